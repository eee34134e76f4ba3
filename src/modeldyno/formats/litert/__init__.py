"""LiteRT files (.tflite), read without LiteRT."""
