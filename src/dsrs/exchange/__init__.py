"""Formats that other programs read and write."""

from dsrs.exchange.formats import (
    FORMATS,
    Format,
    csv_text,
    first_line,
    format_of,
    jsonl_text,
    read_csv,
    read_jsonl,
    read_tsv,
    register,
    tsv_text,
)
from dsrs.exchange.import_export import (
    check_output,
    export_run,
    import_rows,
    refuse_run_folder,
    write_rows,
)
from dsrs.exchange.row import TABLE_COLUMNS, ResultRow, row_from_text, rows_of

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
