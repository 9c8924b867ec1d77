"""What Kubernetes says: typed, immutable objects, the keys users write, and the values inside them.

Nothing in here knows about scheduling, asyncio or HTTP. Structs hold only the fields that koordpy reads;
whatever else the API server sends is skipped while decoding.
"""
