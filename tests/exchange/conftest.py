"""The fixtures of runs made by hand."""

from handmade_run import config, make_result, run_folder

__all__ = ["config", "make_result", "run_folder"]
