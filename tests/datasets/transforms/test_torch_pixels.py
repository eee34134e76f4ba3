"""Pillow's pixels against PyTorch's, which computes them in another way."""

import numpy as np
import pytest

from tests.datasets.transforms.samples import image, transformed

pytestmark = [pytest.mark.engine("pytorch"), pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def torch():
    import torch

    return torch


def batched(torch, array):
    return torch.from_numpy(array.astype(np.float32)).permute(2, 0, 1)[None]


@pytest.mark.oracle("Resize", "torch.nn.functional.interpolate")
@pytest.mark.parametrize("size", [(17, 23), (62, 90), (7, 50)])
@pytest.mark.parametrize(("interpolation", "tolerance"), [("bilinear", 1e-3), ("bicubic", 1e-2)])
def test_resize(torch, size, interpolation, tolerance):
    values = image().astype(np.float32)
    expected = torch.nn.functional.interpolate(
        batched(torch, values), size, mode=interpolation, antialias=True
    )
    resized = transformed("Resize", values, "pytorch", size=list(size), interpolation=interpolation)
    np.testing.assert_allclose(
        resized, expected[0].permute(1, 2, 0).numpy(), atol=tolerance, rtol=0
    )


@pytest.mark.oracle("ResizeWithRatio", "torch.nn.functional.interpolate")
def test_resize_with_ratio_keeps_height_and_width_apart(torch):
    values = image().astype(np.float32)
    expected = torch.nn.functional.interpolate(
        batched(torch, values), (62, 90), mode="bilinear", antialias=True
    )
    resized = transformed("ResizeWithRatio", values, "pytorch", min_dim=62, max_dim=200)
    np.testing.assert_allclose(resized, expected[0].permute(1, 2, 0).numpy(), atol=1e-3)


@pytest.mark.oracle("RandomResizedCrop", "torch.nn.functional.interpolate")
def test_the_whole_image_where_nothing_else_is_allowed(torch):
    values = image(32, 32).astype(np.float32)
    expected = torch.nn.functional.interpolate(
        batched(torch, values), (20, 20), mode="bilinear", antialias=True
    )
    resized = transformed(
        "RandomResizedCrop", values, "pytorch", size=20, scale="1.0, 1.0", ratio="1, 1"
    )
    np.testing.assert_allclose(resized, expected[0].permute(1, 2, 0).numpy(), atol=1e-3)
