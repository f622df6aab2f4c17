"""Files of weights: safetensors, and pickles of tensors read without running code from them.

Published weights come wrapped: in a dictionary beside the state of the optimiser, behind the
prefix `module.` of `DataParallel`, or behind a layer that normalises the input (Cohen et al. 2019
and those who follow them). `with_weights` unwraps them until they are those of a network, and says
what does not fit.
"""

from __future__ import annotations

import math
import pickle
import re
import warnings
import zipfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dsrs.classifiers.tensor_passes import imported_torch
from dsrs.errors import ClassifierError, InvalidInput, imported

PICKLE_SUFFIXES = (".pth", ".pt", ".tar", ".ckpt", ".bin")
WRAPPERS = ("state_dict", "model_state_dict", "model", "net")
SAFE_SINCE = (2, 6)  # before, a pickle could run code although PyTorch was asked for weights only
UNFOLDED = 1 << 24  # bytes that an archive may hold beyond its own size: PyTorch does not compress
SHOWN_NAMES = 4  # names in a message
# Names of the tensors of a normalising layer.
MEAN_NAMES, STD_NAMES = ("mean", "means", "mu"), ("std", "stds", "sds", "deviation", "sigma")


class FoundWeights(NamedTuple):
    """Tensors by the names of a network, and mean and std of the normalising layer before it.

    Both are empty where the layer is there but not saved; `front` is None where there is no layer.
    """

    tensors: dict[str, Any]
    front: tuple[tuple[float, ...], tuple[float, ...]] | None


def read_weights(path: str | Path) -> dict[str, Any]:
    """The tensors of a file by name.

    Args:
        path: A .safetensors file, or a pickle of tensors (.pth, .pt, .pth.tar, .ckpt, .bin).
    """
    file = Path(path)
    if not file.is_file():
        raise ClassifierError(f"there is no file of weights {str(path)!r}")
    if file.suffix == ".safetensors":
        return _safetensors(file)
    if file.suffix in PICKLE_SUFFIXES:
        return _state_dict(safe_load(file), file)
    raise ClassifierError(
        f"weights must be a file ending in .safetensors, {', '.join(PICKLE_SUFFIXES)}, "
        f"got {file.name}"
    )


def safe_load(file: Path) -> Any:
    """What `torch.save` wrote, if it holds tensors, numbers, text and containers only."""
    torch = imported_torch()
    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if version < SAFE_SINCE:
        raise ClassifierError(
            f"{file.name} is a pickle, which PyTorch reads safely since "
            f"{'.'.join(map(str, SAFE_SINCE))}; this is {torch.__version__}: "
            "upgrade it, or give the weights as .safetensors"
        )
    _refuse_unfolding(file)
    try:
        with warnings.catch_warnings():
            # Of protocols of pickle that PyTorch does not write: they are read or refused below.
            warnings.simplefilter("ignore", UserWarning)
            return torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ClassifierError(f"{file.name} is not read: {_reason(str(error))}") from None
    except (
        *(RuntimeError, EOFError, OSError, ValueError, KeyError, TypeError, IndexError),
        *(AttributeError, AssertionError, MemoryError, OverflowError, RecursionError),
    ) as error:
        raise ClassifierError(
            f"{file.name} cannot be read as weights: {type(error).__name__}: "
            f"{str(error).partition(chr(10))[0]}"
        ) from None


def unwrapped(tensors: Mapping[str, Any], wanted: Collection[str]) -> FoundWeights:
    """The tensors under names like those of a network, as far as wrappers explain the difference.

    Args:
        tensors: Tensors by name, as a file has them.
        wanted: The names in the state of the network.
    """
    named, front = dict(tensors), None
    while not named.keys() & set(wanted):
        heads = {name.partition(".")[0] for name in named}
        # A Sequential of a normalisation and the network, of which often only the second is saved.
        if heads <= {"0", "1"} and "1" in heads and front is None:
            layer = _below(named, "0")
            front = _channels(layer, MEAN_NAMES), _channels(layer, STD_NAMES)
            named = _below(named, "1")
        elif len(heads) == 1 and all("." in name for name in named):
            named = _below(named, heads.pop())
        else:
            break
    return FoundWeights(named, front)


def with_weights(
    network: Any,
    tensors: Mapping[str, Any],
    title: str,
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
) -> Any:
    """A torch module in evaluation mode with these weights, behind its normalisation if it has one.

    Args:
        network: The module that the weights are for; it is changed.
        tensors: Tensors by name, as `read_weights` gives them.
        title: What weights and network are called in messages.
        mean: Means of the channels that images are normalised by; by default those that stand with
            the weights, if any.
        std: Their standard deviations.
    """
    state = network.state_dict()
    weights = unwrapped(tensors, state)
    # PyTorch counts batches since 0.4.1; older files lack the counters, which change no answer.
    counters = {
        name: tensor
        for name, tensor in state.items()
        if name.endswith(".num_batches_tracked") and name not in weights.tensors
    }
    complete = {**weights.tensors, **counters}
    _check_fit(complete, state, title)
    network.load_state_dict(complete)
    network.eval()
    if mean or std:
        return normalised_network(network, mean or (0.0,), std or (1.0,))
    if weights.front is None:
        return network
    own_mean, own_std = weights.front
    if not own_mean:
        raise ClassifierError(
            f"{title}: the weights stood behind a layer that normalises the input and is not saved "
            "with them; give its `mean` and `std` (0 and 1 if it does nothing). Cohen et al. and "
            "those who follow them have CIFAR-10 0.4914,0.4822,0.4465 and 0.2023,0.1994,0.2010, "
            "TinyImageNet 0.4802,0.4481,0.3975 and 0.2302,0.2265,0.2262, ImageNet "
            "0.485,0.456,0.406 and 0.229,0.224,0.225 (std 1 for models of the paper's authors)"
        )
    return normalised_network(network, own_mean, own_std or (1.0,))


def normalised_network(network: Any, mean: Sequence[float], std: Sequence[float]) -> Any:
    """The network behind (x - mean) / std, one number or one for each channel."""
    from dsrs.networks import Normalize

    torch = imported_torch()
    if not all(map(math.isfinite, (*mean, *std))) or min(std) <= 0:
        raise InvalidInput(
            f"`mean` must be finite and `std` positive, got {tuple(mean)} and {tuple(std)}"
        )
    return torch.nn.Sequential(Normalize(mean, std), network).eval()


def _safetensors(file: Path) -> dict[str, Any]:
    package, reader = imported("safetensors", "torch"), imported("safetensors.torch", "torch")
    try:
        tensors: dict[str, Any] = reader.load_file(file)
    except (package.SafetensorError, OSError, RuntimeError) as error:
        raise ClassifierError(f"{file.name} cannot be read as weights: {error}") from None
    return tensors


def _state_dict(content: Any, file: Path) -> dict[str, Any]:
    """The dictionary of tensors in what a file holds."""
    torch = imported_torch()
    inner = content
    while isinstance(inner, Mapping):
        if inner and all(
            isinstance(name, str) and isinstance(value, torch.Tensor)
            for name, value in inner.items()
        ):
            return dict(inner)
        wrapped = [name for name in WRAPPERS if isinstance(inner.get(name), Mapping)]
        if not wrapped:
            break
        inner = inner[wrapped[0]]
    seen = (
        f"a dictionary of {_listed([str(name) for name in inner])}"
        if isinstance(inner, Mapping)
        else f"an object of type {type(inner).__name__}"
    )
    raise ClassifierError(
        f"{file.name} must hold tensors by name, such as module.state_dict(), alone or under "
        f"{', '.join(WRAPPERS)}; it holds {seen}"
    )


def _refuse_unfolding(file: Path) -> None:
    """Refuse a small archive of something large before PyTorch unpacks it."""
    if not zipfile.is_zipfile(file):
        return
    try:
        with zipfile.ZipFile(file) as archive:
            unfolded = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise ClassifierError(f"{file.name} cannot be read as weights: {error}") from None
    if unfolded > file.stat().st_size + UNFOLDED:
        raise ClassifierError(
            f"{file.name} unfolds from {file.stat().st_size:,} to {unfolded:,} bytes, "
            "which weights never do"
        )


def _reason(message: str) -> str:
    """Why PyTorch refused a pickle, in a sentence."""
    asked = re.search(r"GLOBAL\s+([\w.]+)", message)
    said = re.search(r"WeightsUnpickler error:\s*([^\n]+)", message)
    reason = said[1] if said else "it is no pickle of tensors"
    if asked:
        reason = f"it asks for {asked[1]}"
    return (
        f"{reason.rstrip('. ')}. A pickle may hold tensors, numbers, text and containers only, "
        "since anything else could run code; if you trust the file, save its tensors alone "
        "(module.state_dict())"
    )


def _below(named: Mapping[str, Any], head: str) -> dict[str, Any]:
    start = f"{head}."
    return {
        name.removeprefix(start): value for name, value in named.items() if name.startswith(start)
    }


def _channels(tensors: Mapping[str, Any], names: Sequence[str]) -> tuple[float, ...]:
    """The numbers of the first of these tensors that is there."""
    values = next((tensors[name] for name in names if name in tensors), None)
    return () if values is None else tuple(values.double().flatten().tolist())


def _check_fit(named: Mapping[str, Any], wanted: Mapping[str, Any], title: str) -> None:
    problems = {
        "missing": [name for name in wanted if name not in named],
        "unknown": [name for name in named if name not in wanted],
        "of another shape": [
            f"{name} {tuple(named[name].shape)} instead of {tuple(tensor.shape)}"
            for name, tensor in wanted.items()
            if name in named and named[name].shape != tensor.shape
        ],
    }
    told = [f"{kind} {_listed(names)}" for kind, names in problems.items() if names]
    if told:
        raise ClassifierError(f"{title} do not fit: {'; '.join(told)}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more
