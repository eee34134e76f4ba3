"""PyTorch's files (TorchScript, torch.export, checkpoints), read without PyTorch."""
