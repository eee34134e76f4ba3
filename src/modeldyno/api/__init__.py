"""The server: guard outermost, then the surfaces."""
