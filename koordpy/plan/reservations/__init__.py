"""Time in the plan: when running pods end, as far as they declare it, and when a job that waits will fit."""
