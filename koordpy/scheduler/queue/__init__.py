"""The queue of jobs: whose turn it is, who backs off, and who is unschedulable until which cluster event."""
