"""Queues in the scheduler: what each has and wants, whose turn it is, what keeps a job out, and from whom it may take.

The arithmetic is in `koordpy.quota`; here it meets pods, tickets and victims. Without Queue objects none of it happens.
"""
