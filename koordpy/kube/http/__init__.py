"""HTTP/1.1 to an API server: requests on kept connections, watches as streams, and how their bytes are read."""
