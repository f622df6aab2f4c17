"""timm, torchvision and Hugging Face: their weights, normalisation, size and names of classes."""

from __future__ import annotations

import importlib
import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from safetensors.torch import save_file  # noqa: E402

from classifiers import published_fakes as fakes  # noqa: E402
from dsrs.classifiers import load_classifier, preparation_of  # noqa: E402
from dsrs.errors import ClassifierError, InvalidInput, MissingExtra  # noqa: E402

Install = Callable[[dict[str, ModuleType]], None]
PIXELS = np.random.default_rng(0).random((5, 3, 8, 8), dtype=np.float32)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Lets these modules be imported."""

    def installed(modules: dict[str, ModuleType]) -> None:
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)

    return installed


def expected(seed: int, mean: Any = fakes.MEAN, std: Any = fakes.STD) -> NDArray[np.float32]:
    """The logits of the network of a seed on normalised pixels, by PyTorch itself."""
    shift, scale = (torch.tensor(values).view(-1, 1, 1) for values in (mean, std))
    with torch.no_grad():
        logits: NDArray[np.float32] = fakes.network(seed)(
            (torch.from_numpy(PIXELS) - shift) / scale
        ).numpy()
    return logits


def hub_folder(folder: Path, processor: dict[str, Any] | None) -> Path:
    """A folder as `save_pretrained` writes it."""
    folder.mkdir()
    config = {"id2label": {"0": "cat", "1": "dog", "2": "bird"}, "image_size": 8}
    (folder / "config.json").write_text(json.dumps(config))
    save_file(fakes.network(7).state_dict(), folder / "model.safetensors")
    if processor is not None:
        (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder


@pytest.mark.parametrize(("library", "names"), [("timm", 0), ("torchvision", 3)])
def test_published_weights_come_with_their_normalisation(
    install: Install, library: str, names: int
) -> None:
    install(getattr(fakes, library)())
    model: Any = load_classifier(f"{library}:pooled", engine="eager")
    assert model.input_shape == (3, 8, 8)
    assert len(model.class_names) == names
    assert "mean 0.4,0.5,0.6, std 0.2,0.25,0.5" in model.description
    np.testing.assert_allclose(model.forward(PIXELS), expected(7), rtol=1e-5)
    assert pickle.loads(pickle.dumps(model)).class_names == model.class_names
    prepared = preparation_of(f"{library}:pooled")
    assert prepared is not None
    assert (prepared.size, prepared.crop, prepared.stretch) == (10, 8, False)


@pytest.mark.parametrize("library", ["timm", "torchvision"])
def test_a_file_of_weights_takes_the_place_of_the_published_ones(
    install: Install, tmp_path: Path, library: str
) -> None:
    install(getattr(fakes, library)())
    torch.save({"state_dict": fakes.network(3).state_dict()}, tmp_path / "mine.pth.tar")
    spec, weights = f"{library}:pooled", tmp_path / "mine.pth.tar"
    model: Any = load_classifier(spec, weights=weights, engine="eager")
    np.testing.assert_allclose(model.forward(PIXELS), expected(3), rtol=1e-5)
    assert "with mine.pth.tar" in model.description
    own: Any = load_classifier(spec, weights=weights, engine="eager", mean=(0.5,), std=(0.1,))
    np.testing.assert_allclose(own.forward(PIXELS), expected(3, (0.5,), (0.1,)), rtol=1e-5)
    assert own.fingerprint != model.fingerprint
    with pytest.raises(InvalidInput, match=r"normalises pixels in \[0, 1\]"):
        load_classifier(spec, weights=weights, bounds=(0.0, 255.0))


def test_squashed_and_bordered_images(install: Install) -> None:
    install(fakes.timm("squash"))
    prepared = preparation_of("timm:pooled")
    assert prepared is not None
    assert prepared.stretch
    assert prepared.text.startswith("images scaled to 10 x 10 (bicubic), the middle 8 x 8 kept")
    install(fakes.timm("border"))
    with pytest.raises(ClassifierError, match="crop mode 'border'"):
        preparation_of("timm:pooled")


PROCESSORS: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "vit": ({"size": {"height": 8, "width": 8}, "resample": 2}, (8, None, "bilinear", True)),
    "clip": (
        {"size": {"shortest_edge": 10}, "do_center_crop": True, "resample": 3,
         "crop_size": {"height": 8, "width": 8}},
        (10, 8, "bicubic", False),
    ),
    "convnext": ({"size": {"shortest_edge": 8}, "crop_pct": 0.8}, (10, 8, "bilinear", False)),
    "convnext large": ({"size": {"shortest_edge": 384}, "crop_pct": 0.9},
                       (384, None, "bilinear", True)),
    "old": ({"size": 8, "do_center_crop": True, "crop_size": 8}, (8, 8, "bilinear", False)),
    "as they are": ({"do_resize": False}, (None, None, "bilinear", False)),
}  # fmt: skip


@pytest.mark.parametrize("kind", PROCESSORS)
def test_images_are_prepared_as_a_folder_says(tmp_path: Path, kind: str) -> None:
    processor, frame = PROCESSORS[kind]
    found = preparation_of(str(hub_folder(tmp_path / "net", processor)))
    assert found is not None
    assert (found.size, found.crop, found.resample, found.stretch) == frame
    assert found.class_names == ("cat", "dog", "bird")


def test_a_hugging_face_folder(install: Install, tmp_path: Path) -> None:
    install(fakes.transformers())
    processor = {"image_mean": list(fakes.MEAN), "image_std": list(fakes.STD), "size": 8}
    folder = hub_folder(tmp_path / "net", processor)
    model: Any = load_classifier(folder, engine="eager")
    np.testing.assert_allclose(model.forward(PIXELS), expected(7), rtol=1e-5)
    assert model.class_names == ("cat", "dog", "bird")
    plain: Any = load_classifier(hub_folder(tmp_path / "plain", None), engine="eager")
    assert "pixels are not normalised" in plain.description
    np.testing.assert_allclose(plain.forward(PIXELS), expected(7, (0.0,), (1.0,)), rtol=1e-5)


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    folder = hub_folder(tmp_path / "net", {"rescale_factor": 1.0})
    with pytest.raises(ClassifierError, match="scaled by 1/255"):
        preparation_of(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ClassifierError, match=r"expected the weights as \.safetensors"):
        load_classifier(folder)
    (folder / "config.json").write_text("[")
    with pytest.raises(ClassifierError, match="cannot be read as JSON"):
        preparation_of(folder)


@pytest.mark.parametrize(
    ("package", "spec"), [("timm", "timm:a"), ("torchvision", "torchvision:a")]
)
def test_a_missing_library_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, spec: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"{package}.models", raising=False)
    with pytest.raises(MissingExtra, match="pip install"):
        load_classifier(f"{package}:a")


def real(package: str) -> Any:
    """The library itself, or a skip: a torchvision for another PyTorch raises RuntimeError."""
    try:
        return importlib.import_module(package)
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"needs {package}, built for this PyTorch: {error}")


@pytest.mark.slow
def test_timm_itself(tmp_path: Path) -> None:
    timm = real("timm")
    torch.manual_seed(0)
    net = timm.create_model("test_vit", pretrained=False).eval()
    torch.save(net.state_dict(), tmp_path / "net.pth")
    model: Any = load_classifier("timm:test_vit", weights=tmp_path / "net.pth", engine="eager")
    config = timm.data.resolve_model_data_config(net)
    x = torch.rand(2, *config["input_size"])
    shift, scale = (torch.tensor(config[name]).view(-1, 1, 1) for name in ("mean", "std"))
    with torch.no_grad():
        np.testing.assert_allclose(model.forward(x.numpy()), net((x - shift) / scale), rtol=1e-4)
    with pytest.raises(ClassifierError, match="Unknown model"):
        load_classifier("timm:resnet9999")


@pytest.mark.slow
def test_torchvision_itself(tmp_path: Path) -> None:
    models = real("torchvision.models")
    torch.save(models.resnet18().state_dict(), tmp_path / "net.pth")
    options: dict[str, Any] = {"weights": tmp_path / "net.pth", "engine": "eager"}
    model = load_classifier("torchvision:resnet18", **options)
    assert model.input_shape == (3, 224, 224)
    assert model.class_names[:2] == ("tench", "goldfish")
    prepared = preparation_of("torchvision:resnet18")
    assert prepared is not None
    assert (prepared.size, prepared.crop) == (256, 224)
    for name in ("resnet9999", "fasterrcnn_resnet50_fpn"):
        with pytest.raises(ClassifierError, match="no image classifier"):
            load_classifier(f"torchvision:{name}")


@pytest.mark.slow
def test_transformers_itself(tmp_path: Path) -> None:
    transformers = real("transformers")
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        image_size=32, patch_size=16, id2label={0: "cat", 1: "dog", 2: "bird"},
    )  # fmt: skip
    net = transformers.ViTForImageClassification(config).eval()
    net.save_pretrained(tmp_path / "net")
    transformers.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(
        tmp_path / "net"
    )
    model: Any = load_classifier(tmp_path / "net", engine="eager")
    assert model.class_names == ("cat", "dog", "bird")
    assert model.input_shape == (3, 32, 32)
    x = torch.rand(2, 3, 32, 32)
    with torch.no_grad():
        np.testing.assert_allclose(model.forward(x.numpy()), net(2 * x - 1).logits, rtol=1e-4)
