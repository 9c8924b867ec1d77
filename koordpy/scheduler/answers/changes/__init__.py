"""Changes that would start a job: each kind is found by making it in a sandbox and asking again.

Each module has functions that yield changes which were planned with success, and None between two attempts: that is
where whoever asks may stop, or let the scheduler go on.
"""
