"""The recorded runs of the original experiments, where they are at hand."""

from recorded_data import original_logs, reference

__all__ = ["original_logs", "reference"]
