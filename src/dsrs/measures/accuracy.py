"""Certified accuracy of runs and tables: at each radius, and on average.

Certified accuracy at r is the share of inputs that are certified for their label with a radius of
at least r (paper, Section 6); abstained and undecided inputs count for nothing, also at r = 0. An
input that is short of the radius it was asked for counts up to what was proved. It is not the clean
accuracy, the share of inputs whose predicted class is the label: a right prediction may have no
certificate. The average certified radius counts all other inputs as 0 (Zhai et al. 2020).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsrs.proofs import Certificate
from dsrs.store import RunResult

BELOW_EVERY_RADIUS = -np.inf  # below every radius, also below 0
NO_CERTIFICATE = "abstained"  # how an input ended that has none: it has no prediction


def proves(status: str | None, radius: float | None) -> bool:
    """Whether an answer proves its radius; one that is short of what was asked may still do."""
    return status == "certified" or (status == "short" and bool(radius))


def proved_radius(status: str | None, radius: float, for_label: bool) -> float:
    """The radius that counts: that of a certificate for the label, and else BELOW_EVERY_RADIUS."""
    return radius if for_label and proves(status, radius) else BELOW_EVERY_RADIUS


def certified_at(proved: ArrayLike, radii: Sequence[float]) -> NDArray[np.bool_]:
    """Return which inputs are certified at which radii: a row for each input, a column for each
    radius."""
    certified: NDArray[np.bool_] = np.asarray(proved)[:, None] >= np.asarray(radii)[None, :]
    return certified


def counted_radii(proved: ArrayLike) -> NDArray[np.float64]:
    """The radii that the average is taken over."""
    return np.maximum(np.asarray(proved, dtype=np.float64), 0.0)


def round_step(largest: float, most: int, factors: Sequence[float] = (1, 2, 2.5, 5, 10)) -> float:
    """The least round step whose multiples reach `largest` in fewer than `most` steps."""
    power = 10.0 ** math.floor(math.log10(largest / most))
    return next(factor * power for factor in factors if largest / (factor * power) < most)


# ---- The methods of a run, over a grid of radii

MOST_SHOWN_RADII = 12
_FACTORS = (1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class MethodAccuracy:
    """What one method proved over a run.

    `correct[i]` inputs are certified for their label at `radii[i]` or more; without labels, for
    the class that was predicted. `abstained` and `undecided` inputs have no certificate, `short`
    ones none at the radius that was asked for.
    """

    method: str
    total: int
    radii: tuple[float, ...]
    correct: tuple[int, ...]
    abstained: int
    undecided: int
    short: int
    average_radius: float

    def share(self, position: int) -> float:
        """Return the certified accuracy at `radii[position]`."""
        return self.correct[position] / self.total

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as JSON."""
        return {
            "method": self.method,
            "inputs": self.total,
            "abstained": self.abstained,
            "undecided": self.undecided,
            "short": self.short,
            "average_certified_radius": self.average_radius,
            "certified_accuracy": [
                {"radius": radius, "accuracy": self.share(position)}
                for position, radius in enumerate(self.radii)
            ],
        }


def certified_accuracy(
    results: Iterable[RunResult], radii: Iterable[float] | None = None
) -> list[MethodAccuracy]:
    """Return the certified accuracy of each method.

    Args:
        results: what `Run.results` yields.
        radii: where to evaluate; a grid of round radii up to the largest one when None.
    """
    seen = [(result.label in (None, result.target), result.certificates) for result in results]
    methods = dict.fromkeys(method for _, certificates in seen for method in certificates)
    proved = {
        method: [proved_radius(*_answer(found.get(method)), for_label) for for_label, found in seen]
        for method in methods
    }
    largest = max((max(column) for column in proved.values()), default=0.0)
    grid = tuple(radii) if radii is not None else radius_grid(largest)
    statuses = {method: [_answer(found.get(method))[0] for _, found in seen] for method in methods}
    return [
        MethodAccuracy(
            method,
            len(seen),
            grid,
            tuple(certified_at(column, grid).sum(axis=0).tolist()),
            statuses[method].count("abstained"),
            statuses[method].count("undecided"),
            statuses[method].count("short"),
            math.fsum(counted_radii(column).tolist()) / len(seen),
        )
        for method, column in proved.items()
    ]


def _answer(certificate: Certificate | None) -> tuple[str, float]:
    if certificate is None:
        return NO_CERTIFICATE, 0.0
    return certificate.status, certificate.radius


def radius_grid(largest: float) -> tuple[float, ...]:
    """Return round radii from 0 to `largest`, MOST_SHOWN_RADII at most."""
    if not 0 < largest < math.inf:
        return (0.0,)
    step = round_step(largest, MOST_SHOWN_RADII, _FACTORS)
    return tuple(round(i * step, 12) for i in range(int(largest / step) + 1))
