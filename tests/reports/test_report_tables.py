from __future__ import annotations

import csv
import io
import json
from fractions import Fraction

from dsrs.reports import (
    Cell,
    Resampling,
    RunSummary,
    csv_table,
    json_document,
    latex_escape,
    latex_table,
    make_report,
    markdown_table,
    summary_rows,
)

FAST = Resampling(100)

# Four equal inputs: 1.2343759... by Neyman-Pearson, 1.5 by double sampling, none abstained.
MARKDOWN = """\
Certified accuracy in percent at l2 radius r, with 95% bootstrap intervals over the test inputs \
(100 resamples, seed 0; gains are paired by input).
a_1 & co: sigma = 1, k = 2, 4 inputs.

| run | certification | clean: predicted | clean: certified | abstained | r = 1 | r = 1.25 | ACR |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
| a_1 & co | Neyman-Pearson | 100.0 [100.0, 100.0] | 100.0 [100.0, 100.0] | 0.0 [0.0, 0.0] | \
100.0 [100.0, 100.0] | 0.0 [0.0, 0.0] | 1.234 [1.234, 1.234] |
| a_1 & co | DSRS truncated | 100.0 [100.0, 100.0] | 100.0 [100.0, 100.0] | 0.0 [0.0, 0.0] | \
100.0 [100.0, 100.0] | 100.0 [100.0, 100.0] | 1.500 [1.500, 1.500] |
| a_1 & co | gain of DSRS truncated |  | 0.0 [0.0, 0.0] | 0.0 [0.0, 0.0] | \
0.0 [0.0, 0.0] | +100.0 [+100.0, +100.0] | +0.266 [+0.266, +0.266] |
"""
LATEX = r"""% needs \usepackage{booktabs}
% certified accuracy in percent; with 95% bootstrap intervals over the test inputs \
(100 resamples, seed 0; gains are paired by input)
% a_1 & co: sigma = 1, k = 2, 4 inputs
\begin{tabular}{llrrr}
\toprule
 & & \multicolumn{2}{c}{Certified accuracy (\%) at radius $r$} & \\
\cmidrule(lr){3-4}
Run & Certification & 1 & 1.25 & ACR \\
\midrule
a\_1 \& co & Neyman-Pearson & 100.0 & 0.0 & 1.234 \\
 & DSRS truncated & 100.0 & 100.0 & 1.500 \\
 & gain of DSRS truncated & 0.0 & \textbf{$+100.0$} & \textbf{$+0.266$} \\
\bottomrule
\end{tabular}
"""
CSV = """\
run,method,gain,quantity,radius,value,low,high
a_1 & co,,0,clean accuracy,,1.000000,1.000000,1.000000
a_1 & co,np,0,abstention,,0.000000,0.000000,0.000000
a_1 & co,np,0,average radius,,1.234375,1.234375,1.234375
a_1 & co,np,0,certified at 0,,1.000000,1.000000,1.000000
a_1 & co,np,0,certified accuracy,1,1.000000,1.000000,1.000000
a_1 & co,np,0,certified accuracy,1.25,0.000000,0.000000,0.000000
a_1 & co,truncated,0,abstention,,0.000000,0.000000,0.000000
a_1 & co,truncated,0,average radius,,1.500000,1.500000,1.500000
a_1 & co,truncated,0,certified at 0,,1.000000,1.000000,1.000000
a_1 & co,truncated,0,certified accuracy,1,1.000000,1.000000,1.000000
a_1 & co,truncated,0,certified accuracy,1.25,1.000000,1.000000,1.000000
a_1 & co,truncated,1,abstention,,0.000000,0.000000,0.000000
a_1 & co,truncated,1,average radius,,0.265624,0.265624,0.265624
a_1 & co,truncated,1,certified at 0,,0.000000,0.000000,0.000000
a_1 & co,truncated,1,certified accuracy,1,0.000000,0.000000,0.000000
a_1 & co,truncated,1,certified accuracy,1.25,1.000000,1.000000,1.000000
"""


def test_markdown(equal_run: RunSummary) -> None:
    assert markdown_table(make_report([equal_run], [1.0, 1.25], FAST)) == MARKDOWN


def test_latex(equal_run: RunSummary) -> None:
    expected = LATEX.replace("\\\n(100", "(100").replace(r"95 \%", "95 %")
    assert latex_table(make_report([equal_run], [1.0, 1.25], FAST)) == expected


def test_csv(equal_run: RunSummary) -> None:
    assert csv_table(make_report([equal_run], [1.0, 1.25], FAST)) == CSV


def test_no_format_says_more_than_was_measured(hand_run: RunSummary) -> None:
    report = make_report([hand_run], [0.5, 1.0], FAST)
    exact = {
        (line.method, gain, radius): one
        for gain, lines in ((False, report.measures[0].methods), (True, report.measures[0].gains))
        for line in lines
        for radius, one in zip(report.radii, line.certified_accuracy, strict=True)
    }
    rows = list(csv.DictReader(io.StringIO(csv_table(report))))
    numbers = json.loads(json_document(report))["numbers"]
    assert len(rows) == len(numbers) == 1 + 2 * 5 + 5
    for row in rows + numbers:
        if row["quantity"] == "certified accuracy":
            one = exact[row["method"], bool(int(row["gain"])), float(row["radius"])]
            for key in ("value", "low", "high"):
                assert Fraction(str(row[key])) <= getattr(one, key)


def test_json_says_where_the_numbers_come_from(hand_run: RunSummary) -> None:
    document = json.loads(json_document(make_report([hand_run], [0.5], FAST)))
    (run,) = document["runs"]
    assert run["undecided"] == {"np": 1, "truncated": 0}
    assert run["settings"]["plan"]["seed"] == 7
    assert document["bootstrap"] == {"resamples": 100, "confidence": 0.95, "seed": 0}


def test_more_abstentions_are_for_the_worse(make_result) -> None:  # type: ignore[no-untyped-def]
    results = [make_result(i, {"np": 1.0, "truncated": "abstained"}) for i in range(4)]
    report = make_report([RunSummary.from_results("lost", results)], [0.5], FAST)
    gain = summary_rows(report)[-1]
    assert gain.abstention == Cell("+100.0", "+100.0", "+100.0", verdict=-1)
    assert gain.accuracy == (Cell("-100.0", "-100.0", "-100.0", verdict=-1),)


def test_markdown_and_latex_keep_names_as_they_are(make_result) -> None:  # type: ignore[no-untyped-def]
    run = RunSummary.from_results("a|b_{c}", [make_result(0, {"np": 1.0})])
    report = make_report([run], [1.0], FAST)
    assert "| a\\|b_{c} |" in markdown_table(report)
    assert r"a|b\_\{c\} &" in latex_table(report)
    assert latex_escape("50% ~ \\x^2 #1 $") == (
        r"50\% \textasciitilde{} \textbackslash{}x\textasciicircum{}2 \#1 \$"
    )


def test_names_cannot_act_in_markdown_and_csv(make_result) -> None:  # type: ignore[no-untyped-def]
    name = "=cmd|' /C calc'!A0<img src=x onerror=alert(1)>\x1b[2J"
    run = RunSummary.from_results(name, [make_result(0, {"np": 1.0})])
    report = make_report([run], [1.0], FAST)
    for table in (markdown_table(report), csv_table(report), latex_table(report)):
        assert "\x1b" not in table
    assert "<img" not in markdown_table(report)
    assert all(line.startswith(("run,", "'=cmd")) for line in csv_table(report).splitlines())
