"""Network topology: the domain that a job is gathered in, the layout inside it, and the rating of a placement."""
