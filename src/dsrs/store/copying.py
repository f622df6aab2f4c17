"""Copying a run into another folder, for users who may not write to the run itself."""

from __future__ import annotations

from pathlib import Path

from dsrs.store.reader import open_run
from dsrs.store.writer import start_run


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
