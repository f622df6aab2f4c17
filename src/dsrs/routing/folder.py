"""Write a routed folder: `route.toml`, which names the router, the experts and their noise."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dsrs.classifiers.routed import ROUTE_NAME, Member, Route, read_route
from dsrs.files.whole import write_whole


def write_route(folder: str | Path, router: Member, experts: Sequence[Member]) -> Route:
    """Write `route.toml` into a folder, new or there already, and return what it names.

    Files are named from the folder, so that it can be moved together with them.
    """
    target = Path(folder)
    tables = [("[router]", router), *(("[[experts]]", expert) for expert in experts)]
    text = "\n".join(_table(head, member, target) for head, member in tables)
    write_whole(target / ROUTE_NAME, text.encode())
    return read_route(target)


def _table(head: str, member: Member, folder: Path) -> str:
    facts: dict[str, Any] = {"model": _named_from(folder, member.model), "sigma": member.sigma}
    usual = {"k": 0.0, "eta": 2.0}
    facts |= {name: getattr(member, name) for name in usual if getattr(member, name) != usual[name]}
    for name, value in member.options.items():
        is_file = name in ("weights", "denoise")
        facts[name] = _named_from(folder, str(value)) if is_file else list(value)
    # A number, a text and a list of numbers are the same in JSON and in TOML.
    lines = [f"{name} = {json.dumps(value)}" for name, value in facts.items()]
    return "\n".join([head, *lines]) + "\n"


def _named_from(folder: Path, name: str) -> str:
    """A file by its path from the folder; other names, such as module:name, as they are."""
    file, colon, inside = name.rpartition(":")
    path = Path(file) if colon and Path(file).is_file() else Path(name)
    if not path.exists():
        return name
    own = Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    return f"{own}:{inside}" if str(path) == file else own
