"""A random model of gangs: users, an API server that loses things, schedulers that die, and what must hold."""
