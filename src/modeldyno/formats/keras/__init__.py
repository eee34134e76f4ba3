"""Keras's own files (.keras), read without Keras."""
