"""The accuracy of a model against the norm of the noise, from the votes of a run.

Accuracy under noise of one norm in a uniform direction does not depend on any law. So every run is
a landscape of the norms that its law reaches; a wide law reaches them all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsrs.errors import StoreError
from dsrs.landscape import Profile, profile_of_bins
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian
from dsrs.store.known_inputs import KnownInputs
from dsrs.store.reader import open_run
from dsrs.votes import SELECTION

# Half the square of the norm follows Gamma(1/2): the norm is as spread as |z| of a normal z.
WIDE_SHAPE = 0.5


def wide_law(d: int, sigma: float) -> GeneralizedGaussian:
    """The law of a landscape: norms from 0 to about 2.5 sigma sqrt(d), nearly evenly."""
    return GeneralizedGaussian(d, sigma, d / 2 - WIDE_SHAPE)


@dataclass(frozen=True, slots=True)
class Landscape:
    """One profile an input, for the class that was counted (the label where there is one).

    `d` is the dimension of the inputs. `first_misses` are norms below which no vote of the input
    missed, infinite where none did. `certified` is the law of votes among them that certify, as in
    a run of `dsrs certify`; None where no vote does. `data` is the fingerprint of the inputs, and
    `classes` are the classes that were counted, where they are known. `fingerprints` and `seed` are
    those of `KnownInputs`, () where not every input has one.
    """

    d: int
    indices: tuple[int, ...]
    profiles: tuple[Profile, ...]
    first_misses: tuple[float, ...]
    votes: int  # all votes that it rests on
    largest_norm: float  # about the largest that was seen
    certified: GeneralizedGaussian | None = None
    data: str | None = None
    classes: tuple[int, ...] | None = None
    fingerprints: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def inputs(self) -> KnownInputs:
        """The inputs of the landscape, which choose the law."""
        return KnownInputs(self.indices, self.data, self.fingerprints, self.seed)


def read_landscape(path: str | Path) -> Landscape:
    """The profiles of all inputs of a run."""
    with open_run(path) as run:
        law, purposes = run.sampled_plan.law, set[str]()
        data = str(run.config["data"]["fingerprint"])
        edges = law.radial_quantile(np.linspace(0, 1, HISTOGRAM_BINS + 1))
        indices, classes, profiles, first_misses, total = [], [], [], [], 0
        named, seed = list[str](), run.sampled_plan.seed
        for result in run.results():
            trials = np.sum([votes.trials for votes in result.votes], axis=0)
            hits = np.sum([votes.hits for votes in result.votes], axis=0)
            purposes |= {votes.stream.purpose for votes in result.votes}
            indices.append(result.index)
            classes.append(result.target)
            named += [] if result.sampled.input is None else [result.sampled.input]
            profiles.append(profile_of_bins(edges, hits, trials))
            missed = edges[:-1][hits < trials]  # where such a bin begins
            first_misses.append(float(missed[0]) if len(missed) else math.inf)
            total += int(trials.sum())
    if not profiles:
        raise StoreError(f"{path} has no finished input yet")
    largest = float(law.radial_quantile(0.99))
    return Landscape(
        law.d,
        tuple(indices),
        tuple(profiles),
        tuple(first_misses),
        total,
        largest,
        None if purposes == {SELECTION} else law,
        data,
        tuple(classes),
        tuple(named) if len(named) == len(indices) else (),
        seed,
    )
