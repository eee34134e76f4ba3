// Written by scripts/write_page_tables.py from src/modeldyno/core/models.py. Do not edit: run `make types`.

export const FORMATS = [
  {"name": "onnx", "title": "ONNX", "suffixes": [".onnx"]},
  {"name": "openvino-ir", "title": "OpenVINO IR", "suffixes": [".xml"]},
  {"name": "litert", "title": "LiteRT", "suffixes": [".tflite"]},
  {"name": "torch-export", "title": "PyTorch export", "suffixes": [".pt2"]},
  {"name": "torchscript", "title": "TorchScript", "suffixes": [".pt", ".ts", ".torchscript"]},
  {"name": "torch-checkpoint", "title": "PyTorch checkpoint", "suffixes": [".pth", ".pt"]},
  {"name": "scripted", "title": "Script", "suffixes": [".json"]},
  {"name": "keras", "title": "Keras", "suffixes": [".keras"]},
  {"name": "tf-graph", "title": "TensorFlow graph", "suffixes": [".pb"]},
  {"name": "saved-model", "title": "SavedModel", "suffixes": [".pb"]},
] as const;
