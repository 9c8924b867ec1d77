"""What was decided, carried out against the API server: binds, evictions, volumes. It decides nothing."""
