"""Save what is sound of a damaged run: every input has its own checksum."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsrs.errors import StoreError
from dsrs.proofs.counterexample import AttackedInput
from dsrs.store.attacks import attack_settings, attacked_inputs, start_attack
from dsrs.store.opening import connect
from dsrs.store.reader import Run, existing_folder
from dsrs.store.result import RunResult
from dsrs.store.schema import STORE_NAME
from dsrs.store.writer import start_run


@dataclass(frozen=True, slots=True)
class Repair:
    """What was kept, and what was dropped with the reason.

    `may_lack_more` when the list of inputs itself is damaged: inputs that no one can name any
    more are lost as well.
    """

    kept: list[int]
    dropped: dict[int, str]
    may_lack_more: bool


def repair_run(path: str | Path, output: str | Path) -> Repair:
    """Copy every sound input of the run at `path` into a new run folder; `path` is not changed.

    The config must be sound, or nobody knows what the votes belong to. The new run can be
    continued as the old one, which does what was dropped again.
    """
    folder, target = existing_folder(path), Path(output)
    if (target / STORE_NAME).exists():
        raise StoreError(f"{target} already holds a run; choose another --output")
    connection = connect(folder / STORE_NAME, writable=False, whole=False)
    with closing(connection):
        run = Run(folder, connection)
        indices, complete = _indices(connection)
        sound, dropped = dict[int, RunResult](), dict[int, str]()
        for index in indices:
            try:
                sound[index] = run.result(index)
            except StoreError as error:
                dropped[index] = str(error)
        settings, attacks = _attacks(run)
    with start_run(target, run.config, run.settings) as writer:
        for result in sound.values():
            writer.add(result)
    if attacks:
        with start_attack(target, settings) as attack_writer:
            for index, one in attacks.items():
                if index in sound:
                    attack_writer.add(one)
    return Repair(list(sound), dropped, not complete)


def _indices(connection: sqlite3.Connection) -> tuple[list[int], bool]:
    """The inputs that can still be listed, and whether the list is whole."""
    numbers: set[int] = set()
    complete = True
    # From both ends, and from the other tables: a damaged page hides what lies behind it.
    for query in (
        "SELECT idx FROM input ORDER BY idx",
        "SELECT idx FROM input ORDER BY idx DESC",
        "SELECT DISTINCT idx FROM votes",
        "SELECT DISTINCT idx FROM certificate",
    ):
        try:
            for (index,) in connection.execute(query):
                if isinstance(index, int):
                    numbers.add(index)
        except sqlite3.DatabaseError:
            complete = False
    return sorted(numbers), complete


def _attacks(run: Run) -> tuple[dict[str, Any], dict[int, AttackedInput]]:
    """The attack of the run where all of it is sound; else it is done again."""
    try:
        settings = attack_settings(run)
        return settings or {}, attacked_inputs(run) if settings else {}
    except StoreError:
        return {}, {}
