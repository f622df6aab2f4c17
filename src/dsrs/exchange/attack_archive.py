"""The counterexamples of a run as arrays: a NumPy archive that needs no pickle."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from dsrs.errors import DataError
from dsrs.exchange.format import Format
from dsrs.proofs import AttackedInput
from dsrs.store import attacked_inputs

ARCHIVE_MAGIC = b"PK\x03\x04"  # an archive of NumPy is a ZIP file
OWN_ARRAYS = (b"perturbation.npy", b"certified.npy", b"rival.npy")


def is_attacks_archive(content: bytes) -> bool:
    """Whether these bytes are such an archive, not any other one."""
    return content.startswith(ARCHIVE_MAGIC) and all(name in content for name in OWN_ARRAYS)


def attacks_archive(attacks: Mapping[int, AttackedInput]) -> bytes:
    """The bytes of an .npz with one row for each input that has a proved counterexample.

    `perturbation` is added to the input in float32; `norm` is its length as it was voted on, in the
    norm `measured_in`, `counts` the votes of each class there, `seed` and `purpose` the name of
    their noise.
    """
    proved = [one for one in attacks.values() if one.counterexample is not None]
    if not proved:
        raise DataError("the run has no proved counterexample; attack it with `dsrs attack`")
    columns: dict[str, list[Any]] = {}
    for one in proved:
        point = one.counterexample
        assert point is not None
        row = {
            "index": one.index,
            "target": one.target,
            "rival": point.rival,
            "certified": one.certified,
            "norm": point.norm,
            "measured_in": one.norm,
            "counts": point.counts,
            "alpha": point.alpha,
            "shown": point.shown,
            "seed": point.seed,
            "purpose": point.purpose,
            "perturbation": one.perturbation,
        }
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    sink = io.BytesIO()
    arrays: dict[str, Any] = {name: np.array(values) for name, values in columns.items()}
    np.savez_compressed(sink, **arrays)
    return sink.getvalue()


FORMAT = Format(
    "attacks",
    ".npz",
    is_attacks_archive,
    export=lambda run, methods: attacks_archive(attacked_inputs(run)),
)
