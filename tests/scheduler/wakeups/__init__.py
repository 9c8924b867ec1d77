"""Nobody is left asleep, nothing is kept for ever: the queue, the picture and the scheduler together."""
