"""The PodGrouper: what becomes of each kind of workload, on the embedded and on a real API server."""
