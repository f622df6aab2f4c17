"""Votes as the version before wrote them (format 2), turned into the fields of this version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MISSED_NOISE = "missed-noise"  # a tally: the sum of the noise of votes that missed
# How a tailored law that is P itself was written: P truncated to the whole of its mass.
ALL_OF_P = {"kind": "truncated", "percentile": 1.0}


def of_format_2(sampled: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `SampledInput` from those of format 2; fields of this version stay."""
    choices = {
        text: None if law == ALL_OF_P and text == "tailored" else law
        for text, law in sampled["choices"].items()
    }
    return {**sampled, "choices": choices, "votes": [_votes(part) for part in sampled["votes"]]}


def _votes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The sum of missed noise had a field of its own, and a run had one classifier."""
    kept = {name: value for name, value in fields.items() if name != "slope"}
    tallies = {MISSED_NOISE: fields["slope"]} if "slope" in fields else {}
    return {"classifier": 0, "tallies": tallies} | kept
