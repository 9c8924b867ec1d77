"""What all controllers share: the work queue with its retries, workers, and patches of `status`."""
