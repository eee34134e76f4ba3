"""A model's graph to look at: groups and what to draw of them, a tree, rows that travel."""
