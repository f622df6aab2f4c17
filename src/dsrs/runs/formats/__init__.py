"""Formats that other programs read and write."""

from dsrs.runs.formats.exporting import FORMATS, export_run, write_rows
from dsrs.runs.formats.importing import import_rows
from dsrs.runs.formats.row import ResultRow

__all__ = ["FORMATS", "ResultRow", "export_run", "import_rows", "write_rows"]
