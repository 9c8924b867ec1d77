"""A cluster on a laptop: the Kubernetes API in memory, simulated nodes, and the demo on them."""
