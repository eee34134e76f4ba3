"""Encodings that several formats share: archives, protobuf, flatbuffers, pickles."""
