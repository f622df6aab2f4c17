"""The run folder: results that survive a stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.store.attacks import AttackWriter as AttackWriter
    from dsrs.store.attacks import attack_settings as attack_settings
    from dsrs.store.attacks import attacked_inputs as attacked_inputs
    from dsrs.store.attacks import start_attack as start_attack
    from dsrs.store.config import run_config as run_config
    from dsrs.store.copying import copy_run as copy_run
    from dsrs.store.known_inputs import KnownInputs as KnownInputs
    from dsrs.store.known_inputs import in_memory as in_memory
    from dsrs.store.known_inputs import rows_not_in as rows_not_in
    from dsrs.store.merging import merge_runs as merge_runs
    from dsrs.store.opening import refuse_strange_files as refuse_strange_files
    from dsrs.store.profiles import Landscape as Landscape
    from dsrs.store.profiles import read_landscape as read_landscape
    from dsrs.store.profiles import wide_law as wide_law
    from dsrs.store.reader import Run as Run
    from dsrs.store.reader import drawn_seed as drawn_seed
    from dsrs.store.reader import open_run as open_run
    from dsrs.store.result import RunResult as RunResult
    from dsrs.store.rows import CERTIFICATE_COLUMNS as CERTIFICATE_COLUMNS
    from dsrs.store.rows import INPUT_COLUMNS as INPUT_COLUMNS
    from dsrs.store.rows import InputRows as InputRows
    from dsrs.store.rows import rows_of_index as rows_of_index
    from dsrs.store.schema import FORMAT_VERSION as FORMAT_VERSION
    from dsrs.store.schema import STORE_NAME as STORE_NAME
    from dsrs.store.schema import checksum_of as checksum_of
    from dsrs.store.spending import VotesSpent as VotesSpent
    from dsrs.store.spending import votes_spent as votes_spent
    from dsrs.store.thumbnails import MAX_SIDE as MAX_SIDE
    from dsrs.store.thumbnails import png as png
    from dsrs.store.thumbnails import thumbnail as thumbnail
    from dsrs.store.writer import RunWriter as RunWriter
    from dsrs.store.writer import start_run as start_run
else:
    __all__, __getattr__, __dir__ = exports(
        __name__,
        {
            "attacks": ("AttackWriter", "attack_settings", "attacked_inputs", "start_attack"),
            "config": ("run_config",),
            "copying": ("copy_run",),
            "known_inputs": ("KnownInputs", "in_memory", "rows_not_in"),
            "merging": ("merge_runs",),
            "opening": ("refuse_strange_files",),
            "profiles": ("Landscape", "read_landscape", "wide_law"),
            "reader": ("Run", "drawn_seed", "open_run"),
            "result": ("RunResult",),
            "rows": ("CERTIFICATE_COLUMNS", "INPUT_COLUMNS", "InputRows", "rows_of_index"),
            "schema": ("FORMAT_VERSION", "STORE_NAME", "checksum_of"),
            "spending": ("VotesSpent", "votes_spent"),
            "thumbnails": ("MAX_SIDE", "png", "thumbnail"),
            "writer": ("RunWriter", "start_run"),
        },
    )
