"""Our own resource API: a file for each noun."""
