"""The inputs that chose a noise law, as its file knows them: what is left out, and what is said."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dsrs.cli.law_options import inputs_listed, read_tuned
from dsrs.errors import DataError

if TYPE_CHECKING:
    from dsrs.datasets import Dataset
    from dsrs.store import KnownInputs

# Where nobody asked for it: images in files that are read, and hashes that are computed.
MOST_READ_FOR_NOTE, MOST_HASHES_FOR_NOTE = 2_000, 500_000


def inputs_that_chose(file: str) -> KnownInputs | None:
    """The inputs that the law of a file was chosen on; None where it says nothing of them.

    Files of `dsrs tune` and `dsrs adapt` have a `landscape`, those of `dsrs conformal tune` a
    `tuning`. Older files do not say their data, or not the fingerprints of the inputs.
    """
    from dsrs.store import KnownInputs

    tuned = read_tuned(file)
    places = (("landscape", "inputs", "data"), ("tuning", "indices", "data_fingerprint"))
    for part, inputs, data in places:
        looked = tuned.get(part)
        if isinstance(looked, dict) and inputs in looked:
            inputs_listed(looked[inputs], file)
            numbers, home = tuple(looked[inputs]), looked.get(data)
            named, seed = looked.get("fingerprints", []), looked.get("seed")
            if not _are_texts(named) or len(named) not in (0, len(numbers)):
                raise DataError(f"{file} must have a fingerprint for each of its inputs, or none")
            if not isinstance(home, str | None) or type(seed) not in (int, type(None)):
                raise DataError(f"{file} must name its data by a text, and its seed by a number")
            return KnownInputs(numbers, home, tuple(named), seed)
    return None


def _are_texts(named: Any) -> bool:
    return isinstance(named, list) and all(isinstance(each, str) for each in named)


@functools.lru_cache(maxsize=4)
def found_among(known: KnownInputs, dataset: Dataset, indices: tuple[int, ...]) -> frozenset[int]:
    """Which of these inputs are known: kept, since commands ask again when they have a plan."""
    return frozenset(known.among(dataset, indices))


def left_out(
    file: str, dataset: Dataset, chosen: Sequence[int], *, say: bool, quiet: bool
) -> frozenset[int]:
    """Those of the chosen inputs that chose the law of the file, and a line about them.

    What was asked for and cannot be done is said also where it should be `quiet`.
    """
    known = inputs_that_chose(file)
    if known is None:
        raise DataError(f"{file} does not say which inputs chose its law")
    if not known.can_be_found_in(dataset):
        if say:
            _say(f"--leave-out: {file} was chosen on other data; nothing is left out")
        return frozenset()
    found = found_among(known, dataset, tuple(chosen))
    if say and not quiet and not known.are_numbers_of(dataset):
        _say(f"left out {_counted(len(found))} that chose the law (known by their content)")
    return found


def note_on_choice(arguments: argparse.Namespace, dataset: Dataset, chosen: Sequence[int]) -> None:
    """Say how many of these inputs chose the law of --law, where they are not left out."""
    if not arguments.law or arguments.law == arguments.leave_out:
        return
    from dsrs.store import in_memory

    known = inputs_that_chose(arguments.law)
    if known is None or not known.can_be_found_in(dataset):
        return
    hashes = known.tests_among(dataset, len(chosen))
    if hashes > (MOST_HASHES_FOR_NOTE if in_memory(dataset) else MOST_READ_FOR_NOTE):
        return
    if found := found_among(known, dataset, tuple(chosen)):
        _say(
            f"note: {_counted(len(found))} of {len(chosen)} chose this law, which looks better on "
            f"them than it is; --leave-out {arguments.law} certifies the others"
        )


def _counted(count: int) -> str:
    return "1 input" if count == 1 else f"{count} inputs"


def _say(line: str) -> None:
    print(line, file=sys.stderr)
