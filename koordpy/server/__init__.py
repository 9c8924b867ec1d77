"""What the process answers over HTTP: health and metrics."""
