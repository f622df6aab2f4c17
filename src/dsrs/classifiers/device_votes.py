"""Votes that are counted on the device of a model and its noise.

A GPU works through what it was given while the processor goes on, until the processor wants to know
something. So classes and norms stay on the device, and are added up there by class and radial bin;
only the sums are brought over, once for all batches of a unit of work.

On a CUDA device the noise of the next batch can be made during the pass of this one. None of this
has been run on a GPU by its authors, so it is off until `dsrs doctor` has taken votes with it on
the same device, driver and versions, and found those without it. DSRS_OVERLAP=off keeps it off,
DSRS_OVERLAP=on switches it on at once.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import Share, VotesThere, checked_classes, failure
from dsrs.classifiers.tensor_passes import NoisyForward, Prepared, imported_torch
from dsrs.errors import ClassifierError, OutOfMemory
from dsrs.files import write_whole
from dsrs.kernels import cache_home

# ---- The order of noise and passes: one after the other, or both at once

LOG = logging.getLogger("dsrs.counting")
OVERLAP_SWITCH = "DSRS_OVERLAP"
PASSES = "doctor.json"


class InOrder:
    """Noise and passes one after the other."""

    lag = 0  # batches that are made before the pass of the first of them begins

    def prepare(self, make: Callable[[], Prepared]) -> Prepared:
        """Make the noise of a batch."""
        return make()

    def handed_over(self, made: Prepared) -> Prepared:
        """The batch, when its noise is ready for the pass."""
        return made

    def answer(self, made: Prepared) -> Any:
        """The pass itself."""
        return made.run(made.batch)


class TwoStreams(InOrder):
    """Noise on a stream of its own, and passes that are recorded once and replayed."""

    lag = 1

    def __init__(self, place: Any) -> None:
        torch = imported_torch()
        self._cuda, self._place = torch.cuda, place
        self._noise = torch.cuda.Stream(place)
        self._noise.wait_stream(torch.cuda.current_stream(place))  # what was moved there before
        self._ready: dict[int, Any] = {}
        self._graphs: dict[tuple[int, ...], tuple[Any, Any, Any] | None] = {}

    def prepare(self, make: Callable[[], Prepared]) -> Prepared:
        with self._cuda.stream(self._noise):
            made = make()
        self._ready[id(made.batch)] = self._noise.record_event()
        return made

    def handed_over(self, made: Prepared) -> Prepared:
        event = self._ready.pop(id(made.batch), None)
        if event is not None:  # the first batch is made before there is a second stream
            main = self._cuda.current_stream(self._place)
            main.wait_event(event)
            for tensor in (made.batch, made.norms):
                tensor.record_stream(main)  # its memory is not used again before the pass ends
        return made

    def answer(self, made: Prepared) -> Any:
        shape = tuple(made.batch.shape)
        if shape not in self._graphs:
            self._graphs[shape] = self._recorded(made)
            return made.run(made.batch)
        found = self._graphs[shape]
        if found is None:
            return made.run(made.batch)
        held, graph, answer = found
        held.copy_(made.batch)
        graph.replay()
        return answer

    def _recorded(self, made: Prepared) -> tuple[Any, Any, Any] | None:
        """A pass as a CUDA graph; None if it cannot be one, or answers otherwise."""
        torch = imported_torch()
        try:
            with torch.inference_mode():
                expected, held = made.run(made.batch), made.batch.clone()
                graph = self._cuda.CUDAGraph()
                self._cuda.synchronize(self._place)
                with (
                    self._cuda.device(self._place),
                    self._cuda.graph(graph, capture_error_mode="thread_local"),
                ):
                    answer = made.run(held)
                graph.replay()
                same = torch.equal(answer, expected)
        except Exception as error:  # modules that wait for the device, and drivers, fail variously
            LOG.info("passes are not recorded: %s", str(error).splitlines()[:1])
            return None
        return (held, graph, answer) if same else None


def order_on(place: Any) -> InOrder:
    """How the work of a device is ordered."""
    return TwoStreams(place) if may_overlap(place) else InOrder()


def may_overlap(place: Any) -> bool:
    """Whether noise may be made during a pass on this device."""
    said = os.environ.get(OVERLAP_SWITCH, "auto")
    if place.type != "cuda" or said == "off":
        return False
    return said == "on" or device_key(place) in _passes()


def device_key(place: Any) -> str:
    """What a pass of `dsrs doctor` holds for: the device, its driver, PyTorch and this package."""
    torch = imported_torch()
    driver = getattr(torch._C, "_cuda_getDriverVersion", lambda: "unknown")()
    name = torch.cuda.get_device_name(place)
    return f"{name}, driver {driver}, torch {torch.__version__}, dsrs {version('dsrs')}"


def record_pass(place: Any, passed: bool) -> None:
    """Remember what `dsrs doctor` found of a device."""
    kept = [key for key in _passes() if key != device_key(place)]
    write_whole(_file(), json.dumps(kept + [device_key(place)] * passed).encode())


@contextmanager
def switched(said: str) -> Iterator[None]:
    """Set DSRS_OVERLAP to `said` inside a `with` block."""
    before = os.environ.get(OVERLAP_SWITCH)
    os.environ[OVERLAP_SWITCH] = said
    try:
        yield
    finally:
        del os.environ[OVERLAP_SWITCH]
        if before is not None:
            os.environ[OVERLAP_SWITCH] = before


def _file() -> Path:
    return cache_home() / PASSES


def _passes() -> list[str]:
    try:
        found = json.loads(_file().read_text())
    except (OSError, ValueError, RuntimeError):
        return []
    return [key for key in found if isinstance(key, str)] if isinstance(found, list) else []


# ---- Counting


class DeviceVotes(VotesThere):
    """Votes of a model whose noise is made by PyTorch.

    Args:
        noisy: makes the noise of a block where the model is.
        num_classes: the number of classes.
        edges: the noise norms between the radial bins.
        name: what messages call the model.
    """

    def __init__(
        self, noisy: NoisyForward, num_classes: int, edges: NDArray[np.float64], name: str
    ) -> None:
        self._noisy, self._classes, self._name = noisy, num_classes, name
        self._shape = (num_classes, len(edges) + 1)
        self._known_edges = edges
        self._waiting: list[tuple[Share, Prepared]] = []
        self._votes: Any = None  # made on the device of the first batch

    def add(self, share: Share) -> list[Share]:
        try:
            if self._votes is None:
                made = self._noisy(share.block, ())
                self._begin(made.norms.device)
            else:
                made = self._order.prepare(lambda: self._noisy(share.block, ()))
        except OutOfMemory:
            return [share]
        self._waiting.append((share, made))
        return self._down_to(self._order.lag)

    def finish(self) -> list[Share]:
        return self._down_to(0)

    def taken(self) -> NDArray[np.int64]:
        if self._votes is None:
            return np.zeros(self._shape, np.int64)
        try:
            votes: NDArray[np.int64] = self._votes.cpu().numpy().reshape(self._shape).copy()
            flawed = bool(self._flawed)
            with imported_torch().inference_mode():
                self._votes.zero_()
        except RuntimeError as error:  # of any kernel since the last call
            raise failure(error, self._name, self._shape) from error
        if flawed:
            raise ClassifierError(
                f"{self._name} must return finite logits, or class ids from 0 to "
                f"{self._classes - 1}, and some rows got others; check the model's weights and the "
                "units of its input"
            )
        return votes

    def _begin(self, place: Any) -> None:
        torch = imported_torch()
        self._order = order_on(place)
        self._edges = torch.from_numpy(self._known_edges).to(place)
        self._ones = torch.ones(0, dtype=torch.int64, device=place)
        self._flawed = torch.zeros((), dtype=torch.bool, device=place)
        self._votes = torch.zeros(self._shape[0] * self._shape[1], dtype=torch.int64, device=place)

    def _down_to(self, waiting: int) -> list[Share]:
        failed = []
        while len(self._waiting) > waiting:
            share, made = self._waiting.pop(0)
            try:
                self._count(share, self._order.handed_over(made))
            except OutOfMemory:
                failed.append(share)
        return failed

    def _count(self, share: Share, made: Prepared) -> None:
        torch = imported_torch()
        answer = self._order.answer(made)
        try:
            with torch.inference_mode():
                classes, flawed = self._winners(answer, len(made.norms))
                bins = torch.searchsorted(self._edges, made.norms)
                places = (classes * self._shape[1] + bins)[share.begin : share.end]
                if len(self._ones) != len(places):
                    self._ones = torch.ones_like(places)
                self._flawed |= flawed
                self._votes.scatter_add_(0, places, self._ones)
        except (MemoryError, RuntimeError) as error:
            raise failure(error, self._name, tuple(answer.shape)) from error

    def _winners(self, answer: Any, rows: int) -> tuple[Any, Any]:
        """The class of each row, and whether any row has none; nothing is waited for."""
        torch = imported_torch()
        if tuple(answer.shape) == (rows, self._classes) and answer.is_floating_point():
            best, classes = answer.max(dim=1)  # the first one of equals; NaN above all
            return classes, ~torch.isfinite(best).all()
        if tuple(answer.shape) == (rows,) and not answer.is_floating_point():
            classes = answer.long()
            inside = classes.clamp(0, self._classes - 1)
            return inside, (inside != classes).any()
        checked_classes(answer.cpu().numpy(), rows, self._classes, self._name)  # says what is wrong
        raise ClassifierError(f"{self._name} must return logits or class ids")
