"""Transforms of samples, by name: ``module:Class``, or one for each framework whose pixels
differ ("" is for all others)."""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "modeldyno.datasets.transforms"


def _by_framework(module: str, name: str) -> Mapping[str, str]:
    place = f"{_HERE}.{module}"
    return {"": f"{place}:{name}", "tensorflow": f"{place}:TensorFlow{name}"}


TRANSFORMS: Mapping[str, str | Mapping[str, str]] = {
    "AlignImageChannel": f"{_HERE}.channels:AlignImageChannel",
    "BilinearImagenet": _by_framework("imagenet", "BilinearImagenet"),
    "Cast": f"{_HERE}.values:Cast",
    "CenterCrop": f"{_HERE}.crops:CenterCrop",
    "CropResize": _by_framework("crops", "CropResize"),
    "CropToBoundingBox": f"{_HERE}.crops:CropToBoundingBox",
    "DecodeImage": f"{_HERE}.jpeg:DecodeImage",
    "EncodeJpeg": f"{_HERE}.jpeg:EncodeJpeg",
    "LabelShift": f"{_HERE}.labels:LabelShift",
    "Normalize": f"{_HERE}.values:Normalize",
    "ParseDecodeImagenet": f"{_HERE}.jpeg:ParseDecodeImagenet",
    "QuantizedInput": f"{_HERE}.values:QuantizedInput",
    "RandomCrop": f"{_HERE}.crops:RandomCrop",
    "RandomHorizontalFlip": f"{_HERE}.flips:RandomHorizontalFlip",
    "RandomResizedCrop": _by_framework("crops", "RandomResizedCrop"),
    "RandomVerticalFlip": f"{_HERE}.flips:RandomVerticalFlip",
    "Rescale": f"{_HERE}.values:Rescale",
    "Resize": _by_framework("resize", "Resize"),
    "ResizeCropImagenet": _by_framework("imagenet", "ResizeCropImagenet"),
    "ResizeWithRatio": _by_framework("resize_with_ratio", "ResizeWithRatio"),
    "SquadV1": f"{_HERE}.squad:SquadV1",
    "ToArray": f"{_HERE}.channels:ToArray",
    "Transpose": f"{_HERE}.channels:Transpose",
}
