"""A small digit classifier and its test images, so that a first benchmark needs no file of yours.

``scripts/train_demo.py`` made both. The images are the Optical Recognition of Handwritten Digits
set (E. Alpaydin and C. Kaynak, UCI Machine Learning Repository, CC BY 4.0) as scikit-learn has it.
"""

from pathlib import Path


def model_path() -> Path:
    """ONNX: ``image`` float32 [batch, 1, 8, 8] in 0..1 goes in, ``logits`` [batch, 10] come out."""
    return Path(__file__).with_name("digits.onnx")


def test_images_path() -> Path:
    """450 images the model never saw: ``image`` ready to feed, and the int64 ``label`` of each."""
    return Path(__file__).with_name("digits_test.npz")
