"""Reports: from the records of runs to tables, print figures and one page."""

from dsrs.confidence.bootstrap import Estimate, Resampling
from dsrs.reports.comparing import Comparison, compare
from dsrs.reports.comparison_tables import comparison_markdown
from dsrs.reports.document import json_document, report_fields
from dsrs.reports.gating import Gate, gate
from dsrs.reports.page import html_page
from dsrs.reports.reading import read_run, read_runs
from dsrs.reports.report import Report, make_report
from dsrs.reports.summary import Outcome, RunSummary
from dsrs.reports.tables import csv_table, latex_table, markdown_table
from dsrs.reports.writing import write_figures, write_page, write_tables

__all__ = [
    "Comparison",
    "Estimate",
    "Gate",
    "Outcome",
    "Report",
    "Resampling",
    "RunSummary",
    "compare",
    "comparison_markdown",
    "csv_table",
    "gate",
    "html_page",
    "json_document",
    "latex_table",
    "make_report",
    "markdown_table",
    "read_run",
    "read_runs",
    "report_fields",
    "write_figures",
    "write_page",
    "write_tables",
]
