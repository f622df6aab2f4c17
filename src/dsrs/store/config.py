"""What a run was started with, and what differs when it is opened with something else."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dsrs.classifiers import Classifier
from dsrs.datasets import Dataset
from dsrs.errors import StoreMismatch
from dsrs.methods import Plan

# Results depend on these sections; the rest of the config is for people to read.
_BINDING = ("plan", "sampled_plan", "model", "data", "device")
_NAMES_ONLY = {"model.description", "data.name", "data.class_names"}
_PACKAGES = ("numpy", "scipy", "numba", "onnxruntime", "torch", "scikit-learn")


def run_config(
    classifier: Classifier,
    dataset: Dataset,
    plan: Plan,
    device: str = "cpu",
    source: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The config of a run, for JSON.

    `source` says how model and data were loaded, so that another command can do it again.
    """
    return {
        "plan": plan.to_dict(),
        "model": {
            "description": classifier.description,
            "fingerprint": classifier.fingerprint,
            "input_shape": list(classifier.input_shape),
            "bounds": list(classifier.bounds),
            "num_classes": classifier.num_classes,
            **({} if classifier.scaling is None else {"scaling": classifier.scaling.to_dict()}),
        },
        "data": {
            "name": dataset.name,
            "fingerprint": dataset.fingerprint,
            "labels": dataset.labels is not None,
            "class_names": list(dataset.class_names),
        },
        "device": device.partition(":")[0],  # votes depend on the type, not on which card
        **({} if source is None else {"source": dict(source)}),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Python, this package and the installed packages that results may depend on."""
    known = {"python": platform.python_version(), "platform": sys.platform}
    for package in ("dsrs", *_PACKAGES):
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            continue
    return known


def check_same_run(stored: Mapping[str, Any], given: Mapping[str, Any], path: object) -> None:
    """Raise StoreMismatch, naming every difference, unless results of both may be mixed."""
    differences = [
        difference
        for section in _BINDING
        for difference in _walk(section, stored.get(section), given.get(section))
    ]
    if differences:
        raise StoreMismatch(
            f"{path} holds a run with other settings, and results are never mixed:\n"
            + "\n".join(
                f"  {name}: stored {was!r}, given {now!r}" for name, was, now in differences
            )
            + _remark(differences)
            + "\nuse the stored settings to continue it, or another --output"
        )


def _remark(differences: Sequence[tuple[str, Any, Any]]) -> str:
    """What may help: the reason, if the idea was more votes for inputs that have some."""
    names = [name for name, _, _ in differences]
    for name, was, now in differences:
        same_weights = was.split()[:1] == now.split()[:1] if name == "model.fingerprint" else False
        if same_weights and was.startswith("sha256:"):
            return (
                "\nthe weights are the same, but not what is done with them: the precision, "
                "torch.compile (--precision, --compile), a denoiser or a normalisation"
            )
    grids = [was for name, was, _ in differences if name == "plan.grid"]
    if grids == [None]:
        return "\nthe stored run added noise in float32, as --grid none does"
    if "plan.n" not in names:
        return ""
    return (
        "\nvotes that were taken cannot count towards another n: a bound holds with its part of "
        "alpha after the numbers of votes that were fixed before the first one"
    )


def _walk(name: str, was: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in sorted(set(was) | set(now)):
            yield from _walk(f"{name}.{key}", was.get(key), now.get(key))
    elif was != now and name not in _NAMES_ONLY:
        yield name, was, now
