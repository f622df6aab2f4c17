"""Runs of the first format, in today's records. They can be read, but not continued.

It named a law by one word and one number, and votes by the method they were for: `selection`, `p1`
and `p2` (the first and second part under P), `q:METHOD`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dsrs.errors import DataError
from dsrs.methods import NEYMAN_PEARSON
from dsrs.votes.records import ESTIMATION, SELECTION

FIRST_FORMAT = 1


def plan_fields(old: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a plan from those of the first format; others are left as they are."""
    # Earlier versions knew no grid, and added in float32; their seeds and alphas were given.
    since = {"grid": None, "seed_public": True, "family_alpha": None, "family_size": None}
    fields = since | dict(old)
    if "methods" in old:
        return fields
    try:
        methods = [NEYMAN_PEARSON] if fields.pop("neyman_pearson") else []
        methods += fields.pop("additional")
        later: dict[str, Any] = {
            "radius": None,
            "radii": [],
            "precision": None,
            "classes": "top",
            "bound": "plain",
        }
        return fields | later | {"methods": methods}
    except KeyError as error:
        raise DataError(f"the plan of this run lacks {error}") from None


def votes_fields(old: Mapping[str, Any], n_first: int) -> dict[str, Any]:
    """The fields of votes from those of the first format."""
    stream, law = str(old["stream"]), old["q"]
    if isinstance(law, list):
        law = dict(zip(("kind", "value"), law, strict=True))
    return {
        "purpose": SELECTION if stream == "selection" else ESTIMATION,
        "law": law,
        "start": n_first if stream == "p2" else 0,
        **{name: old[name] for name in ("counts", "trials", "hits")},
    }


def choices_of(votes: list[Mapping[str, Any]], methods: tuple[str, ...]) -> dict[str, Any]:
    """Which law each heuristic chose: that of the stream with the name of its method."""
    found = {}
    for text in methods:
        names = (f"q:{text}", f"q:{text.partition(':')[0]}")
        if text.endswith("heuristic"):
            for fields in votes:
                if fields["stream"] in names and fields["q"] is not None:
                    found[text] = votes_fields(fields, 0)["law"]
    return found
