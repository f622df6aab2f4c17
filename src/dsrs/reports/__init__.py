"""Reports: from the records of runs to tables, print figures and one page."""

from dsrs.confidence.bootstrap import Estimate, Resampling
from dsrs.reports.page import html_page
from dsrs.reports.reading import read_run, read_runs
from dsrs.reports.report import Report, make_report
from dsrs.reports.summary import Outcome, RunSummary
from dsrs.reports.tables import csv_table, json_document, latex_table, markdown_table
from dsrs.reports.writing import write_figures, write_page, write_tables

__all__ = [
    "Estimate",
    "Outcome",
    "Report",
    "Resampling",
    "RunSummary",
    "csv_table",
    "html_page",
    "json_document",
    "latex_table",
    "make_report",
    "markdown_table",
    "read_run",
    "read_runs",
    "write_figures",
    "write_page",
    "write_tables",
]
