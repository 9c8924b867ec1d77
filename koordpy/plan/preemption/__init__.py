"""Whom to evict so that a whole job fits: who may be, what it costs, and who can be reprieved."""
