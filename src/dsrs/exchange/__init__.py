"""Formats that other programs read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.exchange.formats import FORMATS as FORMATS
    from dsrs.exchange.formats import Format as Format
    from dsrs.exchange.formats import csv_text as csv_text
    from dsrs.exchange.formats import first_line as first_line
    from dsrs.exchange.formats import format_of as format_of
    from dsrs.exchange.formats import jsonl_text as jsonl_text
    from dsrs.exchange.formats import read_csv as read_csv
    from dsrs.exchange.formats import read_jsonl as read_jsonl
    from dsrs.exchange.formats import read_tsv as read_tsv
    from dsrs.exchange.formats import register as register
    from dsrs.exchange.formats import tsv_text as tsv_text
    from dsrs.exchange.import_export import check_output as check_output
    from dsrs.exchange.import_export import export_run as export_run
    from dsrs.exchange.import_export import import_rows as import_rows
    from dsrs.exchange.import_export import refuse_run_folder as refuse_run_folder
    from dsrs.exchange.import_export import write_rows as write_rows
    from dsrs.exchange.row import TABLE_COLUMNS as TABLE_COLUMNS
    from dsrs.exchange.row import ResultRow as ResultRow
    from dsrs.exchange.row import row_from_text as row_from_text
    from dsrs.exchange.row import rows_of as rows_of
else:
    __all__, __getattr__, __dir__ = exports(__name__)
