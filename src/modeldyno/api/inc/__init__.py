"""The API of INC Bench: one file for each noun. Parse, call a service, shape the answer."""
