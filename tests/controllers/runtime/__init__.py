"""What all controllers share: when a key is reconciled, and what becomes of one whose reconcile failed."""
