"""What we know about nodes: a row each in resource-major columns; labels, taints and domains as integer codes."""
