"""Writing a run folder: started, continued, copied, or merged from parts.

Results of different settings are never mixed in one folder: what a run was started with is its
config, and every difference from it is named.
"""

from __future__ import annotations

import json
import platform
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dsrs.classifiers import Classifier
from dsrs.datasets import Dataset
from dsrs.errors import InvalidInput, StoreError, StoreMismatch
from dsrs.files import UNFINISHED, make_folders, remove_empty, write_whole
from dsrs.methods import Plan
from dsrs.proofs import AttackedInput
from dsrs.store.attacks import attack_settings, attacked_inputs, start_attack
from dsrs.store.opening import (
    ASKED,
    LOCK_NAME,
    SETTINGS_NAME,
    STORE_NAME,
    connect,
    create_store,
    damage_as_error,
    lock_folder,
    ranges_text,
    read_config,
)
from dsrs.store.reader import Run, open_run
from dsrs.store.rows import RunResult, rows_of_result, write_rows

# ---- The config of a run

# Results depend on these sections; the rest of the config is for people to read.
_BINDING = ("plan", "sampled_plan", "model", "data", "device")
_NAMES_ONLY = {"model.description", "data.name", "data.class_names"}
_PACKAGES = ("numpy", "scipy", "numba", "onnxruntime", "torch", "scikit-learn")


def run_config(
    classifier: Classifier,
    dataset: Dataset,
    plan: Plan,
    device: str = "cpu",
    source: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The config of a run, for JSON.

    `source` says how model and data were loaded, so that another command can do it again.
    """
    return {
        "plan": plan.to_dict(),
        "model": {
            "description": classifier.description,
            "fingerprint": classifier.fingerprint,
            "input_shape": list(classifier.input_shape),
            "bounds": list(classifier.bounds),
            "num_classes": classifier.num_classes,
            **({} if classifier.scaling is None else {"scaling": classifier.scaling.to_dict()}),
        },
        "data": {
            "name": dataset.name,
            "fingerprint": dataset.fingerprint,
            "labels": dataset.labels is not None,
            "class_names": list(dataset.class_names),
        },
        "device": device.partition(":")[0],  # votes depend on the type, not on which card
        **({} if source is None else {"source": dict(source)}),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Python, this package and the installed packages that results may depend on."""
    known = {"python": platform.python_version(), "platform": sys.platform}
    for package in ("dsrs", *_PACKAGES):
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            continue
    return known


def check_same_run(stored: Mapping[str, Any], given: Mapping[str, Any], path: object) -> None:
    """Raise StoreMismatch, naming every difference, unless results of both may be mixed."""
    differences = [
        difference
        for section in _BINDING
        for difference in _walk(section, stored.get(section), given.get(section))
    ]
    if differences:
        raise StoreMismatch(
            f"{path} holds a run with other settings, and results are never mixed:\n"
            + "\n".join(
                f"  {name}: stored {was!r}, given {now!r}" for name, was, now in differences
            )
            + _remark(differences)
            + "\nuse the stored settings to continue it, or another --output"
        )


def _remark(differences: Sequence[tuple[str, Any, Any]]) -> str:
    """What may help: the reason, if the idea was more votes for inputs that have some."""
    names = [name for name, _, _ in differences]
    for name, was, now in differences:
        same_weights = was.split()[:1] == now.split()[:1] if name == "model.fingerprint" else False
        if same_weights and was.startswith("sha256:"):
            return (
                "\nthe weights are the same, but not what is done with them: the precision, "
                "torch.compile (--precision, --compile), a denoiser or a normalisation"
            )
    grids = [was for name, was, _ in differences if name == "plan.grid"]
    if grids == [None]:
        return "\nthe stored run added noise in float32, as --grid none does"
    if "plan.n" not in names:
        return ""
    return (
        "\nvotes that were taken cannot count towards another n: a bound holds with its part of "
        "alpha after the numbers of votes that were fixed before the first one"
    )


def _walk(name: str, was: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in sorted(set(was) | set(now)):
            yield from _walk(f"{name}.{key}", was.get(key), now.get(key))
    elif was != now and name not in _NAMES_ONLY:
        yield name, was, now


# ---- Writing a run folder: one writer at a time, one transaction for each input


def start_run(
    path: str | Path, config: Mapping[str, Any], settings: str | None = None
) -> RunWriter:
    """Start a run in a new or empty folder, or continue the run of the same config in it.

    `settings` is the text of its run.toml, which says how to start such a run again.
    Raises StoreMismatch when the folder holds a run of another config, and StoreError when it
    holds something else, cannot be written, or another process writes to it.
    """
    folder = Path(path)
    made = _make_folder(folder)
    store = folder / STORE_NAME
    with ExitStack() as undo:
        undo.callback(remove_empty, made)
        lock = lock_folder(folder)
        undo.callback(_remove_traces, folder, made)
        undo.callback(lock.close)
        # A run without results holds nothing that could be mixed: its start has failed.
        if not store.exists() or _is_empty(store):
            with damage_as_error(store):
                create_store(store, json.dumps(config, allow_nan=False))
        connection = connect(store, writable=True)
        undo.callback(connection.close)
        writer = RunWriter(folder, connection, lock, config, made)
        if settings is not None:
            write_whole(folder / SETTINGS_NAME, settings.encode())
        undo.pop_all()
    return writer


class RunWriter:
    """A run that is open for adding results. `with start_run(...) as writer:` closes it."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        lock: sqlite3.Connection,
        config: Mapping[str, Any],
        made: list[Path],
    ) -> None:
        self.path = path
        self._made = made
        self.store = path / STORE_NAME
        self._connection = connection
        self._lock = lock
        self._plan = Plan.from_dict(dict(config["plan"]))
        with damage_as_error(self.store):
            check_same_run(read_config(connection, self.store), config, path)
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            connection.execute("INSERT INTO session VALUES (?, ?)", (now, json.dumps(versions())))

    def ask(self, indices: Iterable[int]) -> None:
        """Keep which inputs this session shall finish, for `dsrs show`."""
        text = json.dumps(versions() | {ASKED: ranges_text(indices)})
        with damage_as_error(self.store), self._connection as transaction:
            transaction.execute(
                "UPDATE session SET versions = ? WHERE rowid = (SELECT max(rowid) FROM session)",
                (text,),
            )

    def add_sessions(self, sessions: Iterable[Mapping[str, Any]]) -> None:
        """Sessions of other runs whose results are added to this one, unless they are known."""
        with damage_as_error(self.store), self._connection as transaction:
            transaction.execute("BEGIN IMMEDIATE")
            known = set(transaction.execute("SELECT started, versions FROM session"))
            for each in sessions:
                asked = {ASKED: each[ASKED]} if each[ASKED] is not None else {}
                row = (each["started"], json.dumps(each["versions"] | asked))
                if row not in known:
                    transaction.execute("INSERT INTO session VALUES (?, ?)", row)
                    known.add(row)

    def finished(self) -> set[int]:
        """The inputs whose results are kept."""
        with damage_as_error(self.store):
            return {row[0] for row in self._connection.execute("SELECT idx FROM input")}

    def holds(self, index: int) -> bool:
        """Whether the result of this input is kept."""
        with damage_as_error(self.store):
            query = "SELECT 1 FROM input WHERE idx = ?"
            return self._connection.execute(query, (index,)).fetchone() is not None

    def add(self, result: RunResult) -> None:
        """Keep the result of one input: whole, on disk, when this returns."""
        rows = rows_of_result(result, self._plan)
        with damage_as_error(self.store), self._connection as transaction:
            transaction.execute("BEGIN IMMEDIATE")
            write_rows(transaction, rows)

    def close(self) -> None:
        self._connection.close()
        self._lock.close()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: object, *details: object) -> None:
        self.close()
        if kind is not None:
            _remove_traces(self.path, self._made)


def _is_empty(store: Path) -> bool:
    # For writing, so that no transaction that was cut is left for the store that takes its place.
    with closing(connect(store, writable=True)) as connection, damage_as_error(store):
        (inputs,) = connection.execute("SELECT count(*) FROM input").fetchone()
        return not inputs


def _remove_traces(folder: Path, made: list[Path]) -> None:
    """After a start that failed before the first input: leave the place as it was found."""
    store = folder / STORE_NAME
    if store.exists() and not _is_empty(store):
        return
    store.unlink(missing_ok=True)
    for name in (LOCK_NAME, SETTINGS_NAME):
        (folder / name).unlink(missing_ok=True)
    remove_empty(made)


def _make_folder(folder: Path) -> list[Path]:
    try:
        there = folder.exists()
    except OSError as error:
        raise StoreError(f"{folder} cannot be a run folder: {error.strerror}") from None
    if there and not folder.is_dir():
        raise StoreError(f"{folder} is a file; --output must be a new folder or a run to continue")
    if folder.is_dir() and not (folder / STORE_NAME).exists():
        ours = {LOCK_NAME, f"{LOCK_NAME}-journal"}
        strange = sorted(
            item.name
            for item in folder.iterdir()
            if item.name not in ours
            and not (item.name.startswith(f".{STORE_NAME}.") and UNFINISHED in item.name)
        )
        if strange:
            raise StoreError(
                f"{folder} is not empty and holds no run (it has {strange[0]}); "
                "--output must be a new folder or a run to continue"
            )
    try:
        return make_folders(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be created: {error.strerror}") from None


# ---- Copying a run into another folder, for users who may not write to the run itself


def copy_run(source: str | Path, target: str | Path) -> None:
    """Copy the finished inputs of a run into the folder `target`, as far as they are not there.

    The folder is new, or an earlier copy. Attacks are not copied. Raises StoreMismatch where the
    folder holds another run.
    """
    with open_run(source) as run:
        config = run.config | {"copied_from": str(run.path.resolve())}
        with start_run(target, config, run.settings) as writer:
            finished = writer.finished()
            for index in run.indices():
                if index not in finished:
                    writer.add(run.result(index))


# ---- Merging runs of one config that were made in parts: every input is copied from its part

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
