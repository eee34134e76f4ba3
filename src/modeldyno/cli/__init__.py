"""The terminal tool: one file per command."""
