"""What we know: one consistent picture of the cluster, in numpy columns and compact records.

The picture is changed by what the API server says and by what the scheduler assumes; it never decides
anything. No asyncio, no HTTP, no clock in here.
"""
