"""One use case per method."""
