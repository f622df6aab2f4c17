"""The run folder: results that survive a stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.store.attacks import AttackWriter as AttackWriter
    from dsrs.store.attacks import attack_settings as attack_settings
    from dsrs.store.attacks import attacked_inputs as attacked_inputs
    from dsrs.store.attacks import start_attack as start_attack
    from dsrs.store.attacks import sum_of_attack as sum_of_attack
    from dsrs.store.landscapes import KnownInputs as KnownInputs
    from dsrs.store.landscapes import Landscape as Landscape
    from dsrs.store.landscapes import in_memory as in_memory
    from dsrs.store.landscapes import read_landscape as read_landscape
    from dsrs.store.landscapes import rows_not_in as rows_not_in
    from dsrs.store.landscapes import wide_law as wide_law
    from dsrs.store.opening import FORMAT_VERSION as FORMAT_VERSION
    from dsrs.store.opening import STORE_NAME as STORE_NAME
    from dsrs.store.opening import checksum_of as checksum_of
    from dsrs.store.reader import Run as Run
    from dsrs.store.reader import VotesSpent as VotesSpent
    from dsrs.store.reader import drawn_seed as drawn_seed
    from dsrs.store.reader import open_run as open_run
    from dsrs.store.reader import votes_spent as votes_spent
    from dsrs.store.rows import CERTIFICATE_COLUMNS as CERTIFICATE_COLUMNS
    from dsrs.store.rows import INPUT_COLUMNS as INPUT_COLUMNS
    from dsrs.store.rows import MAX_SIDE as MAX_SIDE
    from dsrs.store.rows import InputRows as InputRows
    from dsrs.store.rows import RunResult as RunResult
    from dsrs.store.rows import png as png
    from dsrs.store.rows import rows_of_index as rows_of_index
    from dsrs.store.rows import thumbnail as thumbnail
    from dsrs.store.writer import RunWriter as RunWriter
    from dsrs.store.writer import copy_run as copy_run
    from dsrs.store.writer import merge_runs as merge_runs
    from dsrs.store.writer import run_config as run_config
    from dsrs.store.writer import start_run as start_run
else:
    __all__, __getattr__, __dir__ = exports(__name__)
