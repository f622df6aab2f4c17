"""Files: written whole or not at all, read within limits, and errors that name their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.files.reading import ENCODING as ENCODING
    from dsrs.files.reading import KEPT_BYTES as KEPT_BYTES
    from dsrs.files.reading import LIMIT_VARIABLE as LIMIT_VARIABLE
    from dsrs.files.reading import CsvRow as CsvRow
    from dsrs.files.reading import check_unpacked as check_unpacked
    from dsrs.files.reading import content_of_file as content_of_file
    from dsrs.files.reading import csv_table as csv_table
    from dsrs.files.reading import open_csv as open_csv
    from dsrs.files.reading import text_of as text_of
    from dsrs.files.reading import text_of_file as text_of_file
    from dsrs.files.reading import unpacked_gzip as unpacked_gzip
    from dsrs.files.records import Readable as Readable
    from dsrs.files.records import Readers as Readers
    from dsrs.files.records import csv_cell as csv_cell
    from dsrs.files.records import from_json as from_json
    from dsrs.files.records import markdown_name as markdown_name
    from dsrs.files.records import one_line as one_line
    from dsrs.files.records import printable as printable
    from dsrs.files.records import record_to_json as record_to_json
    from dsrs.files.records import shown as shown
    from dsrs.files.records import text_of_cell as text_of_cell
    from dsrs.files.records import to_json as to_json
    from dsrs.files.writing import UNFINISHED as UNFINISHED
    from dsrs.files.writing import append_text as append_text
    from dsrs.files.writing import check_appendable as check_appendable
    from dsrs.files.writing import check_figure as check_figure
    from dsrs.files.writing import check_new_file as check_new_file
    from dsrs.files.writing import make_folders as make_folders
    from dsrs.files.writing import remove_empty as remove_empty
    from dsrs.files.writing import unfinished_path as unfinished_path
    from dsrs.files.writing import whole_file as whole_file
    from dsrs.files.writing import write_whole as write_whole
else:
    __all__, __getattr__, __dir__ = exports(__name__)
