"""HTTP/1.1 to the API server: requests on keep-alive connections, watches as streams, and their parser."""
