"""Reports: from the records of runs to tables, print figures and one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsrs._lazy import exports

if TYPE_CHECKING:
    from dsrs.confidence import Resampling as Resampling
    from dsrs.reports.candidates import candidates_page as candidates_page
    from dsrs.reports.candidates import draw_tuning as draw_tuning
    from dsrs.reports.candidates import learned_lines as learned_lines
    from dsrs.reports.candidates import write_candidates_page as write_candidates_page
    from dsrs.reports.comparing import Comparison as Comparison
    from dsrs.reports.comparing import compare as compare
    from dsrs.reports.figures import FIGURES as FIGURES
    from dsrs.reports.figures import accuracy_gain as accuracy_gain
    from dsrs.reports.figures import certified_accuracy as certified_accuracy
    from dsrs.reports.figures import draw_figures as draw_figures
    from dsrs.reports.figures import save_figures as save_figures
    from dsrs.reports.gating import gate as gate
    from dsrs.reports.gating import gate_fields as gate_fields
    from dsrs.reports.gating import gate_junit as gate_junit
    from dsrs.reports.gating import gate_markdown as gate_markdown
    from dsrs.reports.gating import gate_text as gate_text
    from dsrs.reports.headers import SHOWN_DIGITS as SHOWN_DIGITS
    from dsrs.reports.headers import header_lines as header_lines
    from dsrs.reports.headers import run_notes as run_notes
    from dsrs.reports.measures import default_radii as default_radii
    from dsrs.reports.measures import envelopes as envelopes
    from dsrs.reports.measures import measure_run as measure_run
    from dsrs.reports.page import html_page as html_page
    from dsrs.reports.reading import check_comparable as check_comparable
    from dsrs.reports.reading import read_run as read_run
    from dsrs.reports.reading import read_runs as read_runs
    from dsrs.reports.reading import split_name as split_name
    from dsrs.reports.reading import without_places as without_places
    from dsrs.reports.report import Report as Report
    from dsrs.reports.report import caveats as caveats
    from dsrs.reports.report import make_report as make_report
    from dsrs.reports.series import UNDEFENDED_TITLE as UNDEFENDED_TITLE
    from dsrs.reports.series import Undefended as Undefended
    from dsrs.reports.series import figure_series as figure_series
    from dsrs.reports.series import gain_bands as gain_bands
    from dsrs.reports.series import input_points as input_points
    from dsrs.reports.series import on_one_axis as on_one_axis
    from dsrs.reports.series import probability_curve as probability_curve
    from dsrs.reports.series import radial_accuracy as radial_accuracy
    from dsrs.reports.series import step_curve as step_curve
    from dsrs.reports.sets import draw_sizes as draw_sizes
    from dsrs.reports.sets import sets_page as sets_page
    from dsrs.reports.sets import sizes_figure as sizes_figure
    from dsrs.reports.sets import write_sets_page as write_sets_page
    from dsrs.reports.style import DARK_PALETTE as DARK_PALETTE
    from dsrs.reports.style import NEUTRAL as NEUTRAL
    from dsrs.reports.style import PALETTE as PALETTE
    from dsrs.reports.style import Looks as Looks
    from dsrs.reports.style import accuracy_steps as accuracy_steps
    from dsrs.reports.style import looks_of as looks_of
    from dsrs.reports.style import method_color as method_color
    from dsrs.reports.style import print_style as print_style
    from dsrs.reports.style import run_color as run_color
    from dsrs.reports.summary import RunSummary as RunSummary
    from dsrs.reports.tables import Cell as Cell
    from dsrs.reports.tables import Row as Row
    from dsrs.reports.tables import changes_lines as changes_lines
    from dsrs.reports.tables import column_heads as column_heads
    from dsrs.reports.tables import comparison_fields as comparison_fields
    from dsrs.reports.tables import comparison_markdown as comparison_markdown
    from dsrs.reports.tables import comparison_notes as comparison_notes
    from dsrs.reports.tables import comparison_rows as comparison_rows
    from dsrs.reports.tables import csv_table as csv_table
    from dsrs.reports.tables import interval_note as interval_note
    from dsrs.reports.tables import latex_escape as latex_escape
    from dsrs.reports.tables import latex_table as latex_table
    from dsrs.reports.tables import markdown_table as markdown_table
    from dsrs.reports.tables import ratio_lines as ratio_lines
    from dsrs.reports.tables import summary_rows as summary_rows
    from dsrs.reports.writing import MANIFEST as MANIFEST
    from dsrs.reports.writing import check_folder as check_folder
    from dsrs.reports.writing import check_junit_path as check_junit_path
    from dsrs.reports.writing import check_page_path as check_page_path
    from dsrs.reports.writing import figure_names as figure_names
    from dsrs.reports.writing import json_document as json_document
    from dsrs.reports.writing import report_fields as report_fields
    from dsrs.reports.writing import table_names as table_names
    from dsrs.reports.writing import write_figures as write_figures
    from dsrs.reports.writing import write_page as write_page
    from dsrs.reports.writing import write_tables as write_tables
else:
    __all__, __getattr__, __dir__ = exports(__name__)
