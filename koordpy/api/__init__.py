"""The Kubernetes API: typed immutable objects, the keys of labels and annotations, quantities and times.

This package knows nothing of scheduling, asyncio or HTTP. Structs have only the fields that koordpy reads; all others
are skipped while decoding.
"""
