"""OpenVINO IR, read without OpenVINO."""
