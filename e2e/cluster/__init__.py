"""Finding a cluster for the end-to-end tests, or making one; ending what was made, and nothing else."""
