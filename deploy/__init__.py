"""What makes koordpy's deliverables of their sources; `make manifests` and `make dist` call it."""
