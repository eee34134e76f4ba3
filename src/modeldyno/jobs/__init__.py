"""Where a run happens: on this machine, one after the other; later also elsewhere."""
