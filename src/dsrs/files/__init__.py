"""Files at the doors of the package: written whole or not at all, read with the place of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.files.appending import append_text as append_text
    from dsrs.files.appending import check_appendable as check_appendable
    from dsrs.files.content import content_of_file as content_of_file
    from dsrs.files.content import text_of as text_of
    from dsrs.files.content import text_of_file as text_of_file
    from dsrs.files.csv_rows import ENCODING as ENCODING
    from dsrs.files.csv_rows import KEPT_BYTES as KEPT_BYTES
    from dsrs.files.csv_rows import CsvRow as CsvRow
    from dsrs.files.csv_rows import csv_table as csv_table
    from dsrs.files.csv_rows import open_csv as open_csv
    from dsrs.files.folders import make_folders as make_folders
    from dsrs.files.folders import remove_empty as remove_empty
    from dsrs.files.foreign_text import csv_cell as csv_cell
    from dsrs.files.foreign_text import markdown_name as markdown_name
    from dsrs.files.foreign_text import one_line as one_line
    from dsrs.files.foreign_text import printable as printable
    from dsrs.files.foreign_text import text_of_cell as text_of_cell
    from dsrs.files.json_records import Readers as Readers
    from dsrs.files.json_records import from_json as from_json
    from dsrs.files.json_records import record_to_json as record_to_json
    from dsrs.files.json_records import shown as shown
    from dsrs.files.json_records import to_json as to_json
    from dsrs.files.new_file import check_figure as check_figure
    from dsrs.files.new_file import check_new_file as check_new_file
    from dsrs.files.readable import Readable as Readable
    from dsrs.files.unpacking import LIMIT_VARIABLE as LIMIT_VARIABLE
    from dsrs.files.unpacking import check_unpacked as check_unpacked
    from dsrs.files.unpacking import unpacked_gzip as unpacked_gzip
    from dsrs.files.whole import UNFINISHED as UNFINISHED
    from dsrs.files.whole import unfinished_path as unfinished_path
    from dsrs.files.whole import whole_file as whole_file
    from dsrs.files.whole import write_whole as write_whole
else:
    __all__, __getattr__, __dir__ = exports(
        __name__,
        {
            "appending": ("append_text", "check_appendable"),
            "content": ("content_of_file", "text_of", "text_of_file"),
            "csv_rows": ("CsvRow", "ENCODING", "KEPT_BYTES", "csv_table", "open_csv"),
            "folders": ("make_folders", "remove_empty"),
            "foreign_text": ("csv_cell", "markdown_name", "one_line", "printable", "text_of_cell"),
            "json_records": ("Readers", "from_json", "record_to_json", "shown", "to_json"),
            "new_file": ("check_figure", "check_new_file"),
            "readable": ("Readable",),
            "unpacking": ("LIMIT_VARIABLE", "check_unpacked", "unpacked_gzip"),
            "whole": ("UNFINISHED", "unfinished_path", "whole_file", "write_whole"),
        },
    )
