"""Tests of the bench: that it measures what it says, on sizes too small for its figures to mean anything."""
