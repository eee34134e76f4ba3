"""TensorFlow's files (frozen graphs, SavedModels), read without TensorFlow."""
