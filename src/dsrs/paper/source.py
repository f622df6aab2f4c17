"""Where recorded data comes from: the public logs as a folder, or the compact tables."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from dsrs.errors import NotRecorded
from dsrs.paper.logs import LogFolder, read_logs
from dsrs.paper.noise_norm_logs import NoiseNormLogs, read_noise_norm_logs
from dsrs.paper.reference_tables import ACCURACY_BY_NORM, read_accuracy_by_norm, read_reference


class PublicLogs:
    """The folder that holds `sampling`, `orig-radius`, `new-radius`, `landscape_sampling`."""

    def __init__(self, folder: Path) -> None:
        self.logs: Path | None = folder
        self._folder = folder

    @cached_property
    def recorded(self) -> LogFolder:
        """Runs, radii, and what could not be read."""
        return read_logs(self._folder)

    def accuracy_by_norm(self) -> NoiseNormLogs:
        """Accuracy on spheres of noise, one record a model, and what could not be read."""
        return read_noise_norm_logs(self._folder)


class CompactTables:
    """The folder that holds `double_sampling.csv.gz` and its companions."""

    logs: Path | None = None  # no logs of their own

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def recorded(self) -> LogFolder:
        """Runs; a table that cannot be read raises."""
        return LogFolder(read_reference(self._folder), [], [], [])

    def accuracy_by_norm(self) -> NoiseNormLogs:
        """Accuracy on spheres of noise, one record a model."""
        path = self._folder / ACCURACY_BY_NORM
        if not path.exists():
            raise NotRecorded(f"expected {ACCURACY_BY_NORM} in {str(self._folder)!r}, found none")
        return NoiseNormLogs(read_accuracy_by_norm(path))


RecordedSource = PublicLogs | CompactTables
