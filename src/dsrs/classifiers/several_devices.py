"""One model on several devices of this machine: a worker for each, which share out the votes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from dsrs.classifiers.base import Classifier
from dsrs.classifiers.callable import CallableClassifier, remembered
from dsrs.errors import ClassifierError, InvalidInput

ALL = ":all"
DEVICE = re.compile(r"[a-z]+(:\d{1,2})?")


def devices_of(text: str) -> tuple[str, ...]:
    """The devices that `device` names: one, several with commas, or all of a type (`cuda:all`)."""
    names = tuple(text.split(","))
    if text.endswith(ALL):
        names = _all_of(text[: -len(ALL)])
    for name in names:
        if not DEVICE.fullmatch(name) and name:
            raise InvalidInput(f"`device` must be such as cpu, cuda or cuda:1, got {name!r}")
    kinds = {name.partition(":")[0] for name in names}
    if len(kinds) > 1 or "" in names or len(set(names)) < len(names):
        raise InvalidInput(
            f"`device` must name different devices of one type, such as cuda:0,cuda:1, got {text!r}"
        )
    return names


def _all_of(kind: str) -> tuple[str, ...]:
    from dsrs.classifiers.tensor_passes import imported_torch

    if kind != "cuda":
        raise InvalidInput(f"`device` cuda:all takes every GPU; {kind + ALL!r} is not known")
    count = imported_torch().cuda.device_count()
    if not count:
        raise InvalidInput("`device` is cuda:all, and PyTorch sees no CUDA device here")
    return tuple(f"{kind}:{number}" for number in range(count))


def on_each(device: str, load: Callable[[str], Classifier]) -> Classifier:
    """What `load` makes for a device, or for each of several.

    Args:
        device: as `devices_of` reads it.
        load: makes the model on one device; a model of its own for every call.
    """
    names = devices_of(device)
    made = [load(name) for name in names]
    return made[0] if len(made) == 1 else on_several(made)


@remembered
def on_several(members: Sequence[Classifier]) -> CallableClassifier:
    """The first of these models, with all of them to share out its votes.

    Args:
        members: the same model on different devices.
    """
    first = members[0]
    if not isinstance(first, CallableClassifier):
        raise InvalidInput(
            f"{first.description} says itself where it runs; several devices are for PyTorch and "
            "ONNX models"
        )
    for member in members:
        if member.fingerprint != first.fingerprint:
            raise ClassifierError(
                f"{member.description} is another model than {first.description}: "
                f"{member.fingerprint}, not {first.fingerprint}"
            )
    return replace(first, replicas=tuple(members))
