"""Files of weights: published checkpoints unwrapped, what does not fit named, code refused."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from dsrs.classifiers import load_classifier, read_weights, safe_load  # noqa: E402
from dsrs.errors import ClassifierError, InvalidInput  # noqa: E402
from dsrs.networks import build_network  # noqa: E402

SHAPE = (3, 32, 32)
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


@pytest.fixture(scope="module")
def network() -> Any:
    torch.manual_seed(0)
    return build_network("resnet-20", SHAPE, 10).eval()


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    return np.random.default_rng(0).random((4, *SHAPE), dtype=np.float32)


def answers(network: Any, images: np.ndarray, mean: Any = 0.0, std: Any = 1.0) -> list[int]:
    """Classes of the network at (images - mean) / std, as its authors would compute them."""
    shift, scale = (np.asarray(value, np.float32).reshape(-1, 1, 1) for value in (mean, std))
    with torch.no_grad():
        logits = network(torch.from_numpy((images - shift) / scale))
    classes: list[int] = logits.argmax(dim=1).tolist()
    return classes


def published(network: Any, prefix: str) -> dict[str, Any]:
    """A checkpoint as Cohen et al. and those who follow them write it."""
    state = OrderedDict((prefix + name, value) for name, value in network.state_dict().items())
    parameters = [torch.nn.Parameter(torch.ones(2))]
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
    return {
        "epoch": 90,
        "arch": "cifar_resnet20",
        "state_dict": state,
        "optimizer": optimizer.state_dict(),
    }


def loaded(path: Path, **options: Any) -> Any:
    return load_classifier("resnet-20", input_shape=SHAPE, weights=path, engine="eager", **options)


@pytest.mark.parametrize("prefix", ["1.", "1.module.", "module.1.", "module.1.module."])
def test_a_published_checkpoint_is_unwrapped(
    tmp_path: Path, network: Any, images: np.ndarray, prefix: str
) -> None:
    path = tmp_path / "checkpoint.pth.tar"
    torch.save(published(network, prefix), path)
    with pytest.raises(ClassifierError, match=r"behind a layer that normalises.*CIFAR-10 0\.4914"):
        loaded(path)
    classifier = loaded(path, mean=MEAN, std=STD)
    assert classifier.num_classes == 10
    assert classifier.classify(images).tolist() == answers(network, images, MEAN, STD)
    assert answers(network, images, MEAN, STD) != answers(network, images)


@pytest.mark.parametrize(
    ("suffix", "wrapped"),
    [
        (".pth", lambda state: state),
        (".pt", lambda state: {"model": state, "best_accuracy": 0.9}),
        (".ckpt", lambda state: {"state_dict": {f"net.{k}": v for k, v in state.items()}}),
        (".bin", lambda state: {"model_state_dict": {f"module.{k}": v for k, v in state.items()}}),
    ],
)
def test_other_wrappers(
    tmp_path: Path, network: Any, images: np.ndarray, suffix: str, wrapped: Any
) -> None:
    path = tmp_path / f"weights{suffix}"
    torch.save(wrapped(network.state_dict()), path)
    assert loaded(path).classify(images).tolist() == answers(network, images)


def test_a_saved_normalisation_is_used(tmp_path: Path, network: Any, images: np.ndarray) -> None:
    state = {f"1.{name}": value for name, value in network.state_dict().items()}
    path = tmp_path / "weights.pth"
    torch.save({**state, "0.means": torch.tensor(MEAN), "0.sds": torch.tensor(STD)}, path)
    assert loaded(path).classify(images).tolist() == answers(network, images, MEAN, STD)
    # Centred inputs, without a deviation, as the paper's authors have for ImageNet.
    torch.save({**state, "0.means": torch.tensor(MEAN)}, path)
    assert loaded(path).classify(images).tolist() == answers(network, images, MEAN)


def test_counters_that_old_files_lack_change_nothing(
    tmp_path: Path, network: Any, images: np.ndarray
) -> None:
    state = {k: v for k, v in network.state_dict().items() if "num_batches" not in k}
    torch.save(state, tmp_path / "old.pth")
    assert loaded(tmp_path / "old.pth").classify(images).tolist() == answers(network, images)


def test_weights_go_into_a_module_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_net.py").write_text("import torch\ndef net(): return torch.nn.Linear(3, 2)\n")
    state = {"weight": torch.tensor([[1.0, 0, 0], [0, 1, 0]]), "bias": torch.zeros(2)}
    torch.save({f"1.module.{name}": value for name, value in state.items()}, "own.pth.tar")
    classifier = load_classifier(
        "own_net:net", input_shape=(3,), weights="own.pth.tar", mean=(0.5, 0.0, 0.0)
    )
    # 0.6 - 0.5 is below 0.2.
    assert classifier.classify(np.array([[0.6, 0.2, 0]], np.float32)).tolist() == [1]


def test_what_does_not_fit_is_named(tmp_path: Path, network: Any) -> None:
    state = dict(network.state_dict())
    state["head.weight"] = state.pop("fc.weight")
    state["conv1.weight"] = torch.zeros(16, 1, 3, 3)
    torch.save(state, tmp_path / "other.pth")
    with pytest.raises(ClassifierError) as refused:
        loaded(tmp_path / "other.pth")
    told = str(refused.value)
    assert "the weights of other.pth and resnet-20 do not fit" in told
    assert "missing fc.weight" in told
    assert "unknown head.weight" in told
    assert "conv1.weight (16, 1, 3, 3) instead of (16, 3, 3, 3)" in told
    torch.save({"a.b": torch.zeros(2), "c.d": torch.zeros(2)}, tmp_path / "other.pth")
    with pytest.raises(ClassifierError, match="is it for another network"):
        loaded(tmp_path / "other.pth")


class Attack:
    """Runs a command when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("as_zip", [True, False])
def test_a_pickle_that_runs_code_is_refused_with_the_reason(tmp_path: Path, as_zip: bool) -> None:
    mark = tmp_path / "was-here"
    content = {"state_dict": {"a": torch.ones(2)}, "best": Attack(mark)}
    torch.save(content, tmp_path / "hostile.pth", _use_new_zipfile_serialization=as_zip)
    with pytest.raises(ClassifierError, match=r"asks for \w+\.system\. A pickle may hold tensors"):
        read_weights(tmp_path / "hostile.pth")
    (tmp_path / "plain.ckpt").write_bytes(pickle.dumps(Attack(mark), protocol=2))
    with pytest.raises(ClassifierError, match=r"plain\.ckpt"):
        read_weights(tmp_path / "plain.ckpt")
    assert not mark.exists()
    # The same file does run code where it is unpickled: the test would see it.
    pickle.loads((tmp_path / "plain.ckpt").read_bytes())
    assert mark.exists()


def test_a_pickled_module_is_refused_with_its_class(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")
    with pytest.raises(ClassifierError, match=r"torch\.nn\.modules\.linear\.Linear.*state_dict"):
        read_weights(tmp_path / "module.pt")


def test_a_pickle_needs_a_pytorch_that_reads_it_safely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save({"a": torch.ones(2)}, tmp_path / "weights.pth")
    assert set(read_weights(tmp_path / "weights.pth")) == {"a"}
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(ClassifierError, match=r"safely since 2\.6; this is 2\.5\.1"):
        read_weights(tmp_path / "weights.pth")


@pytest.mark.parametrize(
    "content", [b"", b"no pickle", b"PK\x03\x04 cut", b"\x80\x02}q\x00.", b"\x80\x05N."]
)
def test_damaged_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "weights.pth").write_bytes(content)
    with pytest.raises(ClassifierError, match=r"weights\.pth"):
        read_weights(tmp_path / "weights.pth")


def test_a_small_file_of_something_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsrs.classifiers.weights.UNFOLDED", 1 << 16)
    path = tmp_path / "bomb.pth"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb/data.pkl", bytes(1 << 20))
    with pytest.raises(ClassifierError, match=r"unfolds from [\d,]+ to 1,048,576 bytes"):
        safe_load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"epoch": 3}, "it holds a dictionary of epoch"),
        ([1, 2], "it holds an object of type list"),
        ({"state_dict": {"a": 1}}, "it holds a dictionary of a"),
        ({}, "it holds a dictionary of "),
    ],
)
def test_a_file_without_tensors_says_what_it_holds(
    tmp_path: Path, content: Any, message: str
) -> None:
    torch.save(content, tmp_path / "weights.pth")
    with pytest.raises(ClassifierError, match=message):
        read_weights(tmp_path / "weights.pth")


def test_wrong_doors_are_named(tmp_path: Path) -> None:
    with pytest.raises(ClassifierError, match="no file of weights"):
        read_weights(tmp_path / "absent.pth")
    (tmp_path / "weights.txt").write_text("1 2 3")
    with pytest.raises(ClassifierError, match=r"ending in \.safetensors, \.pth"):
        read_weights(tmp_path / "weights.txt")
    with pytest.raises(InvalidInput, match="resnet-20 is a network without weights"):
        load_classifier("resnet-20", input_shape=SHAPE)
    torch.save(build_network("resnet-20", SHAPE, 10).state_dict(), tmp_path / "w.pth")
    with pytest.raises(InvalidInput, match="`std` positive"):
        loaded(tmp_path / "w.pth", std=(0.0, 1.0, 1.0))
