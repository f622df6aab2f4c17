"""Formats that other programs read and write."""

from dsrs.exchange.csv_table import csv_text, read_csv
from dsrs.exchange.exporting import export_run, write_rows
from dsrs.exchange.format import Format, first_line
from dsrs.exchange.importing import import_rows
from dsrs.exchange.json_lines import jsonl_text, read_jsonl
from dsrs.exchange.outputs import check_output, refuse_run_folder
from dsrs.exchange.registry import FORMATS, format_of, register
from dsrs.exchange.row import TABLE_COLUMNS, ResultRow, row_from_text, rows_of
from dsrs.exchange.tsv import read_tsv, tsv_text

__all__ = [
    "FORMATS",
    "TABLE_COLUMNS",
    "Format",
    "ResultRow",
    "check_output",
    "csv_text",
    "export_run",
    "first_line",
    "format_of",
    "import_rows",
    "jsonl_text",
    "read_csv",
    "read_jsonl",
    "read_tsv",
    "refuse_run_folder",
    "register",
    "row_from_text",
    "rows_of",
    "tsv_text",
    "write_rows",
]
