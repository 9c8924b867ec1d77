"""Pictures for the guides: what happened on an embedded cluster with koordpy on it, watched and drawn.

Each is a run of about a minute by a real clock. Nothing is drawn that was not seen.
"""
