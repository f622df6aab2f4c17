"""Formats that other programs read and write."""

from dsrs.exchange.exporting import export_run, write_rows
from dsrs.exchange.format import Format
from dsrs.exchange.importing import import_rows
from dsrs.exchange.registry import FORMATS, format_of, register
from dsrs.exchange.row import ResultRow

__all__ = [
    "FORMATS",
    "Format",
    "ResultRow",
    "export_run",
    "format_of",
    "import_rows",
    "register",
    "write_rows",
]
