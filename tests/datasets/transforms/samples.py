"""Images to transform, and a transform applied to one."""

import numpy as np

from modeldyno.datasets.catalog import make_transform
from modeldyno.datasets.protocol import Sample


def image(height=31, width=45, channels=3, seed=3):
    """Noise, on which every pixel that is taken from the wrong place shows."""
    shape = (height, width, channels) if channels else (height, width)
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def apply(name, sample, framework="onnxrt", seed=0, **parameters):
    if isinstance(sample, np.ndarray):
        sample = Sample((sample,))
    return make_transform(name, framework, parameters).apply(sample, np.random.default_rng(seed))


def transformed(name, array, framework="onnxrt", seed=0, **parameters):
    return apply(name, array, framework, seed, **parameters).inputs[0]
