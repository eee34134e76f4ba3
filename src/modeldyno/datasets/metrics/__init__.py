"""What is computed from answers and labels, one metric a file."""
