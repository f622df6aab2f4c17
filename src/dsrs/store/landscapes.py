"""What a run tells of its inputs for later: the accuracy against the norm of the noise.

Accuracy under noise of one norm in a uniform direction does not depend on any law. So every run is
a landscape of the norms that its law reaches; a wide law reaches them all. The inputs that chose a
law are known by their content, in whatever file and under whatever number they stand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dsrs.datasets import Dataset
from dsrs.errors import StoreError
from dsrs.landscape import Profile, profile_of_bins
from dsrs.laws import HISTOGRAM_BINS, GeneralizedGaussian
from dsrs.proofs import SALTED, input_fingerprint
from dsrs.store.reader import open_run
from dsrs.votes import SELECTION


@dataclass(frozen=True)
class KnownInputs:
    """Some inputs of a data set, to be found again there and in other data.

    Attributes:
        inputs: their numbers in their data.
        data: the fingerprint of that data; None where it is not known, and then any data is taken
            for it.
        fingerprints: the `input_fingerprint` of each, as certificates name it; () if not known.
        seed: with its number the salt of the fingerprint of a row of a table.
    """

    inputs: tuple[int, ...]
    data: str | None = None
    fingerprints: tuple[str, ...] = ()
    seed: int | None = None

    @classmethod
    def of(cls, dataset: Dataset, inputs: Sequence[int], seed: int) -> KnownInputs:
        """These inputs of the data, with their fingerprints."""
        in_rows = len(dataset.input_shape) == 1
        named = (
            input_fingerprint(dataset.input(index), (seed, index) if in_rows else None)
            for index in inputs
        )
        return cls(tuple(inputs), dataset.fingerprint, tuple(named), seed)

    def to_dict(self) -> dict[str, Any]:
        """Return them as JSON."""
        return {
            "inputs": list(self.inputs),
            "data": self.data,
            "fingerprints": list(self.fingerprints),
            "seed": self.seed,
        }

    def are_numbers_of(self, dataset: Dataset) -> bool:
        """Whether the numbers are those of this data."""
        return self.data in (None, dataset.fingerprint)

    def can_be_found_in(self, dataset: Dataset) -> bool:
        """Whether they can be told in this data, by their numbers or by their content."""
        return self.are_numbers_of(dataset) or bool(self.fingerprints)

    def among(self, dataset: Dataset, indices: Iterable[int]) -> set[int]:
        """Return which of these inputs of the data are some of the known ones."""
        if self.are_numbers_of(dataset):
            return set(indices) & set(self.inputs)
        plain = {named for named in self.fingerprints if not named.startswith(SALTED)}
        salts = {
            (self.seed, number): named
            for number, named in zip(self.inputs, self.fingerprints, strict=False)
            if self.seed is not None and named.startswith(SALTED)
        }
        found = set()
        for index in indices if plain or salts else ():
            x = dataset.input(index)
            if input_fingerprint(x) in plain or any(
                input_fingerprint(x, (seed, number)) == named
                for (seed, number), named in salts.items()
            ):
                found.add(index)
        return found

    def tests_among(self, dataset: Dataset, inputs: int) -> int:
        """How many hashes `among` computes for so many inputs of the data."""
        if self.are_numbers_of(dataset):
            return 0
        salted = sum(named.startswith(SALTED) for named in self.fingerprints)
        return inputs * (1 + salted)


def in_memory(dataset: Dataset) -> bool:
    """Whether inputs are read without opening a file for each."""
    return isinstance(dataset.images, np.ndarray)


def rows_not_in(dataset: Dataset, rows: Sequence[int], other: Dataset) -> list[int]:
    """Those of these rows of a data set that are not, by their content, in the other one."""
    known = {input_fingerprint(other.input(index)) for index in range(len(other))}
    return [row for row in rows if input_fingerprint(dataset.input(row)) not in known]


# ---- Profiles of accuracy

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
