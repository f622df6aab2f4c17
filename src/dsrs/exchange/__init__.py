"""Formats that other programs read and write."""

from dsrs.exchange.exporting import EXPORTS, FORMATS, export_run, format_of, write_rows
from dsrs.exchange.importing import ImportedFolder, import_folder, import_rows
from dsrs.exchange.row import ResultRow

__all__ = [
    "EXPORTS",
    "FORMATS",
    "ImportedFolder",
    "ResultRow",
    "export_run",
    "format_of",
    "import_folder",
    "import_rows",
    "write_rows",
]
