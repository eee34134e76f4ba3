"""Recognise a model file, read its inputs, outputs and graph: inside a worker, one file each."""
