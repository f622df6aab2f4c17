"""Inputs known by their content, in whatever file and under whatever number they stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsrs.datasets import Dataset
from dsrs.proofs import SALTED, input_fingerprint


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
