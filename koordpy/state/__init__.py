"""What we know: one consistent state of the cluster, in numpy columns and compact records.

What the API server says and what the scheduler assumes changes it; it never decides anything. No asyncio, no HTTP, no
clock in here.
"""
