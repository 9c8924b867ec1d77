"""The Philly trace under the real scheduler, on virtual time: backfill, expected starts, fair shares.

The scheduler is the whole of `koordpy run` but its lease, its HTTP and its watches: what is measured here is what it
decides, and no figure depends on how busy the machine is.
"""
