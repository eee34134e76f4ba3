"""ONNX files: what they say and their graphs, without an engine."""
