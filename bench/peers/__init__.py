"""Other schedulers: which there are, and building them from their public Go modules."""
