"""The named networks: as many numbers as published, and names that published files have."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from dsrs.errors import InvalidInput
from dsrs.networks import NETWORKS, build_network


def numbers_in(network: torch.nn.Module) -> int:
    return sum(weights.numel() for weights in network.parameters())


def convolution(inputs: int, outputs: int, side: int, bias: bool) -> int:
    return inputs * outputs * side * side + outputs * bias


def test_the_wide_network_has_the_published_number_of_parameters() -> None:
    # Counted by hand: a stage has two 3x3 convolutions and a 1x1 shortcut, all with a bias, and
    # two normalisations of two numbers a channel.
    count = convolution(3, 16, 3, bias=True)
    for inputs, outputs in ((16, 160), (160, 320), (320, 640)):
        count += convolution(inputs, outputs, 3, True) + convolution(outputs, outputs, 3, True)
        count += convolution(inputs, outputs, 1, True) + 2 * inputs + 2 * outputs
    count += 2 * 640 + (640 * 4 + 1) * 200  # 2 x 2 places are left of 56 x 56
    assert numbers_in(build_network("wide-resnet-64", (3, 56, 56), 200)) == count
    assert numbers_in(build_network("wide-resnet-64", (3, 64, 64), 200)) == count


def test_lenet_has_the_published_number_of_parameters() -> None:
    count = convolution(1, 20, 5, True) + convolution(20, 50, 5, True) + 801 * 500 + 501 * 10
    assert numbers_in(build_network("lenet", (1, 28, 28), 10)) == count


def test_the_residual_network_has_the_published_number_of_parameters() -> None:
    # 1.73 million, as He et al. 2016 say of depth 110, and two projections with their statistics.
    published = 1_727_962
    projections = sum(
        convolution(inputs, 2 * inputs, 1, bias=False) + 4 * inputs for inputs in (16, 32)
    )
    assert numbers_in(build_network("resnet-110", (3, 32, 32), 10)) == published + projections


@pytest.mark.parametrize(
    ("name", "shape", "tensors"),
    [
        ("mnist-cnn-large", (1, 28, 28), ("0.weight", "6.bias", "9.weight", "13.bias")),
        ("lenet", (1, 28, 28), ("conv1.weight", "conv2.bias", "fc1.weight", "fc2.bias")),
        ("resnet-20", (3, 32, 32), ("conv1.weight", "layer2.0.downsample.1.weight", "fc.bias")),
        ("wide-resnet-64", (3, 56, 56), ("layer1.0.shortcut.0.bias", "bn1.bias", "linear.bias")),
    ],
)
def test_tensors_are_called_as_in_published_files(
    name: str, shape: tuple[int, ...], tensors: tuple[str, ...]
) -> None:
    state = build_network(name, shape, 10).state_dict()
    assert set(tensors) <= state.keys()
    # The last tensor tells the number of classes of a file.
    assert list(state)[-1] == tensors[-1]


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_answers_row_by_row(name: str) -> None:
    shape = (3, 56, 56) if name == "wide-resnet-64" else (1, 28, 28)
    torch.manual_seed(0)
    network = build_network(name, shape, 7).eval()
    images = torch.rand(3, *shape)
    with torch.no_grad():
        logits = network(images)
        alone = torch.cat([network(image[None]) for image in images])
    assert logits.shape == (3, 7)
    assert torch.allclose(logits, alone, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("resnet-50", (3, 32, 32), "one of mnist-cnn, mnist-cnn-large, lenet"),
        ("lenet", (784,), r"\(channels, height, width\), got \(784,\)"),
        ("lenet", (1, 8, 8), "too small for LeNet"),
        ("mnist-cnn", (1, 1, 1), "too small"),
        ("wide-resnet-64", (3, 24, 64), "at least 25 x 25"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    name: str, shape: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        build_network(name, shape, 10)
