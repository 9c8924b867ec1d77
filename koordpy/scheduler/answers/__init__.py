"""Answers to users: which jobs wait, why, and what would start them. Everything is read, and nothing is changed."""
