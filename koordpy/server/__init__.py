"""The HTTP server of a koordpy process: health, metrics, and Koordinator's API for gangs.

It shows what the process knows. It never changes it, and never asks the scheduler to do anything.
"""
