"""The run store: results that survive a stop, and the formats that other programs read."""

from dsrs.runs.accuracy import MethodAccuracy, certified_accuracy
from dsrs.runs.certifying import certify_run
from dsrs.runs.reader import Run, open_run
from dsrs.runs.result import RunResult
from dsrs.runs.spending import VotesSpent, votes_spent
from dsrs.runs.writer import RunWriter, start_run

__all__ = [
    "MethodAccuracy",
    "Run",
    "RunResult",
    "RunWriter",
    "VotesSpent",
    "certified_accuracy",
    "certify_run",
    "open_run",
    "start_run",
    "votes_spent",
]
