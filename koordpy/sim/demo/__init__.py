"""`koordpy demo`: a simulated cluster, the scheduler on it as a process of its own, a workload, and a view of it all.

The view reads the API and nothing else, so it can show only what `kubectl` could show. Nothing in here decides
where a pod goes, and nothing outside of here and `cli` may import it.
"""
