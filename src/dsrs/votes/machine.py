"""What this machine has, and whether its devices can be trusted with votes: `dsrs doctor`."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from dsrs.classifiers import (
    Classifier,
    available_providers,
    from_torch,
    imported_torch,
    is_apart,
    record_pass,
    switched,
)
from dsrs.errors import ClassifierError, InvalidInput, OutOfMemory
from dsrs.kernels import available_cores
from dsrs.laws import GeneralizedGaussian, Grid
from dsrs.networks import build_network
from dsrs.noise import Stream, device_noise
from dsrs.votes.collect import Setting, WorkUnit, count_votes

# What each package is for; the second is the extra that installs it, none for the core.
PACKAGES = {
    "numpy": ("arrays", None),
    "scipy": ("special functions", None),
    "numba": ("compiled kernels", None),
    "python-flint": ("the checker", None),
    "torch": ("PyTorch models", "torch"),
    "onnxruntime": ("ONNX models", "onnx"),
    "triton": ("fused noise on a GPU", "gpu"),
    "matplotlib": ("figures", "report"),
    "pillow": ("images", "images"),
    "pyarrow": ("Parquet files", "parquet"),
    "scikit-learn": ("scikit-learn estimators", "sklearn"),
    "ray": ("clusters", "ray"),
}
TRIAL_SHAPE, TRIAL_CLASSES, TRIAL_BATCH = (1, 28, 28), 10, 256
ROUND_SECONDS, ROUNDS_OF_TIMING = 0.25, 3
MOST_TRIAL_ROWS = 2**16
TRIAL_VOTES = 4 * TRIAL_BATCH  # of one unit of work, which ends with waiting for the device
ANSWER_TOLERANCE = 1e-3  # engines sum in another order


@dataclass(frozen=True)
class DeviceReport:
    """What was found of one device.

    Args:
        device: as `--device` takes it.
        title: what it calls itself.
        noise: how noise is made for it: `fused`, `eager`, or `host` (by the processor).
        notes: why better ways are not used.
        answers_agree: whether a known network answers as it does on the CPU, so that votes may be
            taken there.
        votes: votes a second with that network.
        passes: rows a second of its forward pass alone.
        most_rows: the largest batch of that network that fits; None where memory is not asked for.
        overlap_agrees: whether votes are the same where noise and passes overlap, which they then
            do from now on; None where they cannot.
    """

    device: str
    title: str
    noise: str
    notes: tuple[str, ...]
    answers_agree: bool
    votes: float
    passes: float
    most_rows: int | None
    overlap_agrees: bool | None


@dataclass(frozen=True)
class Machine:
    """What this machine has.

    Args:
        dsrs, python: versions.
        system: its kind, such as Linux x86_64.
        cores: those that this process may use.
        packages: versions by name; None where a package is missing.
        onnx_providers: what ONNX Runtime can run on.
        devices: what was found of each device.
    """

    dsrs: str
    python: str
    system: str
    cores: int
    packages: dict[str, str | None]
    onnx_providers: tuple[str, ...]
    devices: tuple[DeviceReport, ...]


def examine(devices: Sequence[str] | None = None) -> Machine:
    """Look at this machine.

    Args:
        devices: the devices to try, such as `cpu` or `cuda:1`; all that PyTorch knows when None.
    """
    packages = {name: _version(name) for name in PACKAGES}
    reports: tuple[DeviceReport, ...] = ()
    if packages["torch"] is not None:
        reports = tuple(map(report_on, known_devices() if devices is None else devices))
    elif devices:
        raise InvalidInput("devices are tried with PyTorch: pip install 'dsrs[torch]'")
    system = f"{platform.system()} {platform.machine()}"
    python, cores = platform.python_version(), available_cores()
    return Machine(version("dsrs"), python, system, cores, packages, available_providers(), reports)


def known_devices() -> tuple[str, ...]:
    """The devices that PyTorch knows here; the CPU first."""
    torch = imported_torch()
    cuda = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return ("cpu", *cuda, *mps)


def report_on(device: str) -> DeviceReport:
    """Try a device: its noise, its answers, its speed."""
    torch = imported_torch()
    try:
        place = torch.device(device)
        torch.zeros(1).to(place)
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        raise InvalidInput(f"`device` {device!r} cannot be used: {first}") from error
    torch.manual_seed(0)
    module = build_network("mnist-cnn", TRIAL_SHAPE, TRIAL_CLASSES).eval()
    rows = np.random.default_rng(0).random((TRIAL_BATCH, *TRIAL_SHAPE), dtype=np.float32)
    with torch.inference_mode():
        expected = module(torch.from_numpy(rows)).numpy()
        answers = module.to(place)(torch.from_numpy(rows).to(place)).cpu().numpy()
    gap = float(np.abs(answers - expected).max())
    classifier = from_torch(module, TRIAL_SHAPE, engine="eager", device=device, name="mnist-cnn")
    noise = device_noise(device) if is_apart(place) else None
    agree = gap <= ANSWER_TOLERANCE * max(1.0, float(np.abs(expected).max()))
    votes, passes = _speed(classifier, rows)
    return DeviceReport(
        device,
        _title(torch, place),
        "host" if noise is None else noise.way,
        () if noise is None else noise.notes,
        agree,
        votes,
        passes,
        _most_rows(classifier) if place.type != "cpu" else None,
        _overlap(classifier, rows[0], place, agree) if place.type == "cuda" else None,
    )


def _overlap(classifier: Classifier, x: Any, place: Any, trusted: bool) -> bool | None:
    """Whether votes are the same with two streams; the answer is remembered for this device."""
    if not classifier.makes_noise:
        return None
    found = []
    for said in ("off", "on"):
        with switched(said):
            found.append(count_votes(classifier, x, *_trial()).votes)
    same = bool(np.array_equal(found[0], found[1]))
    record_pass(place, same and trusted)
    return same


def _title(torch: Any, place: Any) -> str:
    if place.type == "cuda":
        memory = torch.cuda.get_device_properties(place).total_memory / 2**30
        return f"{torch.cuda.get_device_name(place)}, {memory:.0f} GiB"
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _speed(classifier: Classifier, rows: Any) -> tuple[float, float]:
    """Votes a second, and rows a second of forward passes alone, in turns of a quarter second."""
    x, (setting, unit) = rows[0], _trial()
    count: Callable[[], Any] = lambda: count_votes(classifier, x, setting, unit)  # noqa: E731
    forward: Callable[[], Any] = lambda: classifier.classify(rows)  # noqa: E731
    count(), forward()
    pairs = [
        (_rate(count, TRIAL_VOTES), _rate(forward, len(rows))) for _ in range(ROUNDS_OF_TIMING)
    ]
    return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)


def _trial() -> tuple[Setting, WorkUnit]:
    """Some votes on the known network."""
    law = GeneralizedGaussian(int(np.prod(TRIAL_SHAPE)), 0.5)
    unit = WorkUnit(0, Stream("doctor", law), 0, TRIAL_VOTES)
    return Setting(0, TRIAL_BATCH, Grid.of_bounds((0.0, 1.0))), unit


def _rate(work: Callable[[], Any], rows: int) -> float:
    """Rows a second of something that takes so many rows."""
    started, done = perf_counter(), 0
    while (spent := perf_counter() - started) < ROUND_SECONDS:
        work()
        done += rows
    return done / spent


def _most_rows(classifier: Classifier) -> int:
    """The largest power of two up to MOST_TRIAL_ROWS of rows for which a pass has memory."""
    rows = TRIAL_BATCH
    while rows < MOST_TRIAL_ROWS:
        try:
            classifier.classify(np.zeros((2 * rows, *TRIAL_SHAPE), np.float32))
        except (OutOfMemory, ClassifierError):
            break
        if classifier.rows_at_once is not None:
            break
        rows *= 2
    return rows


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
