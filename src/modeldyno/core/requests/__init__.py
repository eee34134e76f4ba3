"""What is to be measured, as terminal, Python, config files, client and ``/api/v1`` say it."""
