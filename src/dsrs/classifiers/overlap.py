"""Two things at once on a CUDA device: noise of the next batch, and the pass of this one.

None of this has been run on a GPU by its authors, so it is off until `dsrs doctor` has taken votes
with it on the same device, driver and versions, and found those without it. DSRS_OVERLAP=off keeps
it off, DSRS_OVERLAP=on switches it on at once.
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

from dsrs.classifiers.tensor_passes import Prepared, imported_torch
from dsrs.files import write_whole
from dsrs.kernels import cache_home

LOG = logging.getLogger("dsrs.counting")
OVERLAP_SWITCH = "DSRS_OVERLAP"
PASSES = "doctor.json"


class InOrder:
    """One thing after the other."""

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
    """Whether two things may be done at once on a device."""
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
    """DSRS_OVERLAP for a while."""
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
