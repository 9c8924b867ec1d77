"""Jobs placed close together in the network: which domain, in which order inside it, and how close that is."""
