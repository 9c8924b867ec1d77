"""A filter and a score for koordpy, as a third party would write them."""
