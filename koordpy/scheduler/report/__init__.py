"""What users are told: conditions and events."""
