"""What filters and scores are, which there are by name, and the two answers that planning gives: Plan and Refusal."""
