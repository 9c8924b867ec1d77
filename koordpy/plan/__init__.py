"""What we decide: `plan(job, cluster, profile) -> Plan | Refusal`, plain synchronous functions on the columns.

No asyncio, no HTTP, no clock, no randomness: the same state and the same job give the same answer.
"""
