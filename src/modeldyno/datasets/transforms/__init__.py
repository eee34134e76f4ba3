"""What is done to samples before a model sees them, one transform a file."""
