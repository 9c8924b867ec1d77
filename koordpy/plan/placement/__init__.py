"""Where pods go: one pod, a batch of one shape, the gangs of a job."""
