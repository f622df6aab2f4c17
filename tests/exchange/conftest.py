"""The fixtures of runs made by hand, and the public logs where they are at hand."""

from handmade_run import config, make_result, run_folder
from recorded_data import original_logs

__all__ = ["config", "make_result", "original_logs", "run_folder"]
