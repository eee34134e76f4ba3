"""The code that somebody begins with whose dataset or metric is read by code of their own.

It is written down for them and never run by us now.
"""

from __future__ import annotations

_HEAD = '''"""Code of your own for a dataset of Modeldyno. Fill in what is marked with TODO.

It is not run by this version: datasets are read when accuracy is measured, which comes later.
"""
'''

_READS = '''

class Dataset:
    """All samples, by their numbers from 0 on."""

    def __init__(self) -> None:
        self.samples = []  # TODO: find your samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, number: int):
        """What the model takes, as an array without the batch, and the right answer."""
        array, label = self.samples[number]  # TODO: read and prepare one sample
        return array, label
'''

_JUDGES = '''

class Metric:
    """How good the answers are: 1.0 is perfect, 0.0 is useless."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.right = self.all = 0

    def update(self, outputs, labels) -> None:
        """One batch: what the model said, and the right answers."""
        for output, label in zip(outputs, labels):  # TODO: judge as you need it
            self.right += int(output.argmax() == label)
            self.all += 1

    def result(self) -> float:
        return self.right / self.all if self.all else 0.0
'''


def code_for(*, reads: bool, judges: bool) -> str:
    return _HEAD + (_READS if reads else "") + (_JUDGES if judges else "")
