"""Where the API server is, and who we are to it."""
