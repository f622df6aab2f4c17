"""The run folder: results that survive a stop."""

from dsrs.store.reader import Run, open_run
from dsrs.store.result import RunResult
from dsrs.store.spending import VotesSpent, votes_spent
from dsrs.store.writer import RunWriter, start_run

__all__ = ["Run", "RunResult", "RunWriter", "VotesSpent", "open_run", "start_run", "votes_spent"]
