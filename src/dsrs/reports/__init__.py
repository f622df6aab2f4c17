"""Reports: from the records of runs to tables, print figures and one page."""

from dsrs.confidence import Estimate, Resampling
from dsrs.reports.attacks import SHOWN_DIGITS
from dsrs.reports.candidates_page import candidates_page, learned_lines, write_candidates_page
from dsrs.reports.caveats import caveats
from dsrs.reports.comparing import Comparison, compare
from dsrs.reports.comparison_tables import (
    changes_lines,
    comparison_fields,
    comparison_markdown,
    comparison_notes,
    comparison_rows,
    ratio_lines,
)
from dsrs.reports.document import json_document, report_fields
from dsrs.reports.envelope import envelopes
from dsrs.reports.figures import (
    FIGURES,
    accuracy_gain,
    certified_accuracy,
    draw_figures,
    save_figures,
)
from dsrs.reports.gate_tables import gate_fields, gate_junit, gate_markdown, gate_text
from dsrs.reports.gating import Gate, gate
from dsrs.reports.headers import header_lines, run_notes
from dsrs.reports.looks import Looks, looks_of
from dsrs.reports.measures import default_radii, measure_run
from dsrs.reports.page import html_page
from dsrs.reports.privacy import without_places
from dsrs.reports.reading import read_run, read_runs, split_name
from dsrs.reports.report import Report, make_report
from dsrs.reports.series import (
    UNDEFENDED_TITLE,
    Undefended,
    figure_series,
    gain_bands,
    input_points,
    on_one_axis,
    probability_curve,
    radial_accuracy,
    step_curve,
)
from dsrs.reports.sets_figure import draw_sizes, sizes_figure
from dsrs.reports.sets_page import sets_page, write_sets_page
from dsrs.reports.style import (
    DARK_PALETTE,
    NEUTRAL,
    PALETTE,
    accuracy_steps,
    method_color,
    print_style,
    run_color,
)
from dsrs.reports.summary import Outcome, RunSummary
from dsrs.reports.tables import (
    Cell,
    Row,
    column_heads,
    csv_table,
    interval_note,
    latex_escape,
    latex_table,
    markdown_table,
    summary_rows,
)
from dsrs.reports.together import check_comparable
from dsrs.reports.tuning import draw_tuning
from dsrs.reports.writing import (
    MANIFEST,
    check_folder,
    check_junit_path,
    check_page_path,
    figure_names,
    table_names,
    write_figures,
    write_page,
    write_tables,
)

__all__ = [
    "DARK_PALETTE",
    "FIGURES",
    "MANIFEST",
    "NEUTRAL",
    "PALETTE",
    "SHOWN_DIGITS",
    "UNDEFENDED_TITLE",
    "Cell",
    "Comparison",
    "Estimate",
    "Gate",
    "Looks",
    "Outcome",
    "Report",
    "Resampling",
    "Row",
    "RunSummary",
    "Undefended",
    "accuracy_gain",
    "accuracy_steps",
    "candidates_page",
    "caveats",
    "certified_accuracy",
    "changes_lines",
    "check_comparable",
    "check_folder",
    "check_junit_path",
    "check_page_path",
    "column_heads",
    "compare",
    "comparison_fields",
    "comparison_markdown",
    "comparison_notes",
    "comparison_rows",
    "csv_table",
    "default_radii",
    "draw_figures",
    "draw_sizes",
    "draw_tuning",
    "envelopes",
    "figure_names",
    "figure_series",
    "gain_bands",
    "gate",
    "gate_fields",
    "gate_junit",
    "gate_markdown",
    "gate_text",
    "header_lines",
    "html_page",
    "input_points",
    "interval_note",
    "json_document",
    "latex_escape",
    "latex_table",
    "learned_lines",
    "looks_of",
    "make_report",
    "markdown_table",
    "measure_run",
    "method_color",
    "on_one_axis",
    "print_style",
    "probability_curve",
    "radial_accuracy",
    "ratio_lines",
    "read_run",
    "read_runs",
    "report_fields",
    "run_color",
    "run_notes",
    "save_figures",
    "sets_page",
    "sizes_figure",
    "split_name",
    "step_curve",
    "summary_rows",
    "table_names",
    "without_places",
    "write_candidates_page",
    "write_figures",
    "write_page",
    "write_sets_page",
    "write_tables",
]
