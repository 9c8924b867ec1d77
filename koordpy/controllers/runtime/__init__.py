"""What every controller needs: a work queue, status patches, retries."""
