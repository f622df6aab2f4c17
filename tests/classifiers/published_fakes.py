"""Small stand-ins for timm, torchvision and transformers, with the functions that adapters call.

The real ones are tested too, where they are installed (test_published_models.py, slow).
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import nn

MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.5)


class Pooled(nn.Module):
    """Logits from the means of the channels, for images of any size."""

    def __init__(self, num_classes: int = 3) -> None:
        super().__init__()
        self.last = nn.Linear(3, num_classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.last(images.mean(dim=(2, 3)))
        return logits


def network(seed: int = 0, num_classes: int = 3) -> Pooled:
    """A network with seeded weights."""
    torch.manual_seed(seed)
    return Pooled(num_classes)


def timm(crop_mode: str = "center") -> dict[str, ModuleType]:
    """timm with one model, `pooled`, whose published weights are those of seed 7."""
    config = {
        "input_size": (3, 8, 8), "mean": MEAN, "std": STD, "crop_pct": 0.8,
        "crop_mode": crop_mode, "interpolation": "bicubic",
    }  # fmt: skip
    top, data, models = (ModuleType(name) for name in ("timm", "timm.data", "timm.models"))

    def create_model(name: str, pretrained: bool, num_classes: int = 3) -> nn.Module:
        if name != "pooled":
            raise RuntimeError(f"Unknown model ({name})")
        return network(7 if pretrained else 0, num_classes)

    top.__dict__.update(create_model=create_model, list_models=lambda pattern: ["pooled"])
    data.__dict__.update(resolve_model_data_config=lambda model: config)
    models.__dict__.update(
        get_pretrained_cfg=lambda name: SimpleNamespace(**config) if name == "pooled" else None
    )
    return {"timm": top, "timm.data": data, "timm.models": models}


def torchvision() -> dict[str, ModuleType]:
    """torchvision with one model, `pooled`, whose published weights are those of seed 7."""
    transform = SimpleNamespace(
        crop_size=[8], resize_size=[10], mean=list(MEAN), std=list(STD),
        interpolation=SimpleNamespace(value="bilinear"),
    )  # fmt: skip
    default = SimpleNamespace(
        transforms=lambda: transform, meta={"categories": ["cat", "dog", "bird"]}
    )
    top, models = ModuleType("torchvision"), ModuleType("torchvision.models")

    def get_model_weights(name: str) -> Any:
        if name != "pooled":
            raise ValueError(f"Unknown model {name}")
        return SimpleNamespace(DEFAULT=default)

    def get_model(name: str, weights: Any, num_classes: int = 3) -> nn.Module:
        return network(0 if weights is None else 7, num_classes)

    models.__dict__.update(get_model=get_model, get_model_weights=get_model_weights)
    return {"torchvision": top, "torchvision.models": models}


class _Answering(nn.Module):
    """A model that answers a record, as those of Hugging Face do."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, images: torch.Tensor) -> Any:
        return SimpleNamespace(logits=self.inner(images))


def transformers() -> dict[str, ModuleType]:
    """transformers that reads `Pooled` from model.safetensors of a folder."""

    def from_pretrained(folder: str, **options: Any) -> nn.Module:
        from safetensors.torch import load_file

        assert options == {
            "local_files_only": True,
            "use_safetensors": True,
            "trust_remote_code": False,
        }
        inner = network()
        inner.load_state_dict(load_file(Path(folder) / "model.safetensors"))
        return _Answering(inner).eval()

    top = ModuleType("transformers")
    auto = SimpleNamespace(from_pretrained=from_pretrained)
    top.__dict__.update(AutoModelForImageClassification=auto)
    return {"transformers": top}
