"""Read samples, transform them, judge a model's answers. Runs in a sandboxed worker, never in the
server; needs NumPy and Pillow, and another package only where one reader or metric says so."""
