"""TensorFlow's files (frozen graphs, SavedModels), read without TensorFlow."""

FILE = "saved_model.pb"  # of a SavedModel, in its folder
INDEX = "variables/variables.index"
