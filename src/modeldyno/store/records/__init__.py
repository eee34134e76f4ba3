"""What the database knows, one file for each noun; values in, values out."""
