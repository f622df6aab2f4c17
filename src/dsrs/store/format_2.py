"""Runs of the version before (format 2), in the rows of today's. They are read, not continued.

Certificates were kept whole, as JSON under the name of their method, and told the distance to the
grid; an input had no fingerprint.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsrs.errors import StoreCorrupted
from dsrs.methods import Plan
from dsrs.proofs.format_2 import converted
from dsrs.store.rows import InputRows, certificate_row, rows_of_index
from dsrs.store.schema import checksum_of, damaged
from dsrs.votes.format_2 import of_format_2

FORMAT_2_INPUT_COLUMNS = ("idx", "label", "predicted", "target", "choices", "seconds", "queries")
# What plans did not say: seeds were given, and before there was a grid noise was added in float32.
LATER_IN_PLANS = {"grid": None, "seed_public": True, "family_alpha": None, "family_size": None}


def config_of_format_2(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with plans of today's fields."""
    plans = {name: config[name] for name in ("plan", "sampled_plan") if name in config}
    return {**config, **{name: LATER_IN_PLANS | dict(plan) for name, plan in plans.items()}}


def read_rows_of_format_2(
    connection: sqlite3.Connection, index: int, plan: Plan, store: Path
) -> InputRows:
    """The rows of one input; `plan` is that of its certificates."""
    (*fields, thumbnail, checksum), votes, certificates = rows_of_index(
        connection, index, store, FORMAT_2_INPUT_COLUMNS, ("method", "status", "radius", "body")
    )
    if checksum != checksum_of(json.dumps([fields, votes, certificates]), thumbnail):
        raise StoreCorrupted(damaged(store, f"the checksum of input {index} does not match"))
    texts = {plan.name_of(text): text for text in plan.methods}
    bodies = {
        texts.get(name, name): converted(json.loads(body)) for name, _, _, body in certificates
    }
    rows = [certificate_row(text, body) for text, body in bodies.items()]
    grids = [body["grid"] for body in bodies.values() if body["grid"] is not None]
    moved = max((grid["moved"] for grid in grids), default=0.0)
    parts = {"choices": json.loads(fields[4]), "votes": [json.loads(body) for (body,) in votes]}
    sampled = of_format_2(parts)
    own = [*fields[:4], json.dumps(sampled["choices"]), *fields[5:], moved, None, None]
    return InputRows(own, [json.dumps(part) for part in sampled["votes"]], rows, thumbnail)
