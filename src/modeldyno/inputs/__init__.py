"""From the inputs that a model declares to the tensors of a call: sizes, values, and guesses."""
