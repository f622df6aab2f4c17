"""Votes that are counted where a model and its noise are.

A GPU works through what it was given while the processor goes on, until the processor wants to know
something. So classes and norms stay on the device, and are added up there by class and radial bin;
only the sums are brought over, once for all batches of a unit of work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsrs.classifiers.base import checked_classes, failure
from dsrs.classifiers.counting import Share, VotesThere
from dsrs.classifiers.overlap import order_on
from dsrs.classifiers.tensor_passes import NoisyForward, Prepared, imported_torch
from dsrs.errors import ClassifierError, OutOfMemory


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
