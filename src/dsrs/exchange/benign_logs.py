"""The DSRS scripts' logs of the smoothed answer without an attack.

    benign-sampling/MODEL.pth/LAW-K-SIGMA-N-ALPHA.txt

has the header of a sampling log and one line `o index True` (or False) for each input: whether the
class with most of 100 votes was the label. N and ALPHA of the name were not used.
"""

from __future__ import annotations

from pathlib import Path

from dsrs.errors import DataError
from dsrs.exchange.dsrs_logs import log_lines
from dsrs.exchange.row import parsed

ANSWERS = {"True": True, "False": False}


def is_benign_log(path: Path) -> bool:
    """Whether the first line of results has the form of such a log."""
    try:
        first = next((words for _, words in log_lines(path) if words[0] == "o"), [])
    except DataError:
        return False
    return len(first) == 3 and first[2] in ANSWERS


def read_benign_log(path: Path) -> dict[int, bool]:
    """Whether the answer of each input was right; the first line of an input counts."""
    answers: dict[int, bool] = {}
    for where, words in log_lines(path):
        if words[0] == "x":
            continue
        if len(words) != 3 or words[0] != "o" or words[2] not in ANSWERS:
            raise DataError(f"{where}: expected `o index True|False`, got {' '.join(words)!r}")
        answers.setdefault(parsed(words[1], int, "index", where), ANSWERS[words[2]])
    if not answers:
        raise DataError(f"{path} has no line yet")
    return answers
