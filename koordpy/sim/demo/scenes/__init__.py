"""The second half of the demo: what teams, workloads and users see of koordpy, a scene each.

A scene writes objects as a user would, waits until the API shows what became of them, and tells what it has read
there, or what the scheduler answered. It never says what it expects: a scene that goes another way tells that.
"""
