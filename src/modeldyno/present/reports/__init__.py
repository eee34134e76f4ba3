"""Results as one HTML file: no script, nothing from elsewhere, every word of others escaped."""
