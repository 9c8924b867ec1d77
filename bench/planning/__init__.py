"""Planning in memory, without an API server: how long a plan takes, what the picture weighs, what a wake-up costs."""
