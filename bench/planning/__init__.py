"""Planning in memory, without an API server: the time of a plan, the memory of the state, the cost of a wake-up."""
