"""The vocabulary: frozen values, no I/O, standard library only."""
