"""The only code that holds a stopwatch, and the statistics of what it read."""
