"""What is in `deploy/`, held against the code."""
