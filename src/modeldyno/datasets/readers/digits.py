"""1 797 handwritten digits of 8 × 8 pixels that come with scikit-learn, from 0 to 16."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modeldyno.datasets.protocol import Sample
from modeldyno.datasets.readers.packages import require_package
from modeldyno.datasets.readers.samples import LazySamples


@dataclass(frozen=True, kw_only=True)
class Digits:
    def open(self) -> LazySamples:
        digits = require_package("sklearn.datasets", "The digits dataset").load_digits()
        images, labels = digits.images.astype(np.uint8), digits.target

        def read(number: int) -> Sample:
            return Sample((images[number][..., None],), int(labels[number]))

        return LazySamples(range(len(images)), read)
