"""Reserved starts in the loop: who is promised one, who may start before it, and who has to leave for it."""
