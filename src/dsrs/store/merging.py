"""Merging runs of one config that were made in parts: every input is copied from its part."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dsrs.errors import InvalidInput, StoreMismatch
from dsrs.proofs import AttackedInput
from dsrs.store.attacks import attack_settings, attacked_inputs, start_attack
from dsrs.store.config import check_same_run
from dsrs.store.reader import Run, open_run
from dsrs.store.result import RunResult
from dsrs.store.schema import STORE_NAME
from dsrs.store.writer import start_run

COMPARED = ("label", "predicted", "target", "votes", "certificates", "thumbnail", "queries")


@dataclass(frozen=True, slots=True)
class Merged:
    """How many inputs the merged run has, how many were added, and how often parts overlapped."""

    inputs: int
    added: int
    repeated: int


def merge_runs(parts: Sequence[str | Path], output: str | Path) -> Merged:
    """Put the inputs of all parts into the run folder `output`.

    All parts must be runs of the same plan, model, data and device type. An input that several
    parts have must be the same in all of them (but for the time it took), and so must its attack.
    `output` is a new folder, or a run of the same config, whose inputs are kept like those of a
    part. Everything is checked before anything is written.
    """
    if not parts:
        raise InvalidInput("there must be at least one run to merge")
    target = Path(output)
    exists = (target / STORE_NAME).exists()
    with ExitStack() as stack:
        runs = [stack.enter_context(open_run(part)) for part in parts]
        known = [stack.enter_context(open_run(target))] if exists else []
        config = runs[0].config
        for run in [*known, *runs[1:]]:
            check_same_run(config, run.config, runs[0].path)
        owners, repeated = _owners([*known, *runs])
        settings, attacked = _attacks([*known, *runs])
        todo = [(owner, index) for index, owner in sorted(owners.items()) if owner not in known]
        with start_run(target, config, None if exists else runs[0].settings) as writer:
            writer.add_sessions(session for run in runs for session in run.sessions)
            for owner, index in todo:
                writer.add(owner.result(index))
    if settings is not None:
        with start_attack(target, settings) as attack:
            there = attack.finished()
            for index, attacked_input in sorted(attacked.items()):
                if index not in there:
                    attack.add(attacked_input)
    return Merged(len(owners), len(todo), repeated)


def _owners(runs: Sequence[Run]) -> tuple[dict[int, Run], int]:
    """Which run has each input; those that several have are compared, and counted."""
    owners: dict[int, Run] = {}
    repeated = 0
    for run in runs:
        for result in run.results():
            owner = owners.setdefault(result.index, run)
            if owner is run:
                continue
            repeated += 1
            other = owner.result(result.index)
            if _timeless(other) != _timeless(result):
                differ = ", ".join(
                    name for name in COMPARED if getattr(other, name) != getattr(result, name)
                )
                raise StoreMismatch(
                    f"input {result.index} differs between {owner.path} and {run.path} ({differ}); "
                    "nothing was merged: votes of one config are the same wherever they are "
                    "counted, so one of the two was made by another model, device or version"
                )
    return owners, repeated


def _attacks(runs: Sequence[Run]) -> tuple[dict[str, Any] | None, dict[int, AttackedInput]]:
    """The settings of all attacks, which must be the same, and what they found by input."""
    settings: dict[str, Any] | None = None
    first, attacks = "", dict[int, AttackedInput]()
    for run in runs:
        given = attack_settings(run)
        if given is None:
            continue
        if settings is not None and given != settings:
            raise StoreMismatch(
                f"{first} and {run.path} were attacked with different settings; nothing was "
                "merged: attack one of them again with `dsrs attack --replace`"
            )
        settings, first = given, first or str(run.path)
        for index, one in attacked_inputs(run).items():
            known = attacks.setdefault(index, one)
            if known is not one and _without_time(known) != _without_time(one):
                raise StoreMismatch(
                    f"the attack on input {index} differs between two parts, one of them "
                    f"{run.path}; nothing was merged"
                )
    return settings, attacks


def _without_time(attack: AttackedInput) -> tuple[object, ...]:
    moved = None if attack.perturbation is None else attack.perturbation.tobytes()
    return {**attack.to_dict(), "seconds": 0.0}, moved, attack.pictures


def _timeless(result: RunResult) -> RunResult:
    return replace(result, sampled=replace(result.sampled, seconds=0.0))
