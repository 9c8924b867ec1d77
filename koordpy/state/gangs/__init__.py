"""What we know about gangs: their members, their configuration, and which of them start together."""
