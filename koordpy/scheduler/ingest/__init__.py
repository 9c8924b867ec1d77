"""Watch events into state: one sink per resource. It changes what we know first and wakes jobs second."""
