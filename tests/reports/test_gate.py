"""`dsrs gate`: verdicts by hand, exit codes, and every format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import dsrs
from dsrs.cli.main import main
from dsrs.errors import InvalidInput
from dsrs.reports import RunSummary, gate, gate_junit, gate_markdown
from dsrs.store import RunResult
from reports.test_report_command import store

Make = Callable[..., RunResult]


@pytest.fixture
def run(make_result: Make) -> RunSummary:
    """Ten inputs: eight with radius 1, one abstention, one wrong prediction."""
    results = [make_result(i, {"np": 1.0, "truncated": 1.5}) for i in range(8)]
    results.append(make_result(8, {"np": "abstained", "truncated": "abstained"}))
    results.append(make_result(9, {"np": 2.0, "truncated": 2.0}, predicted=2))
    return RunSummary.from_results("ten", results, settings={"plan": {"alpha": 0.001, "n": 1000}})


def verdict(run: RunSummary, text: str, point: bool = False) -> tuple[bool, str]:
    (found,) = gate(run, [text], point=point).verdicts
    return found.holds, found.value_text


def test_these_inputs_by_hand(run: RunSummary) -> None:
    assert verdict(run, "accuracy@1>=0.8", point=True) == (True, "0.8000")
    assert verdict(run, "accuracy@1>0.8", point=True) == (False, "0.8000")
    assert verdict(run, "accuracy@1.2>=0.1", point=True) == (False, "0.0000")
    assert verdict(run, "mean_radius>=0.8", point=True) == (True, "0.8000")
    assert verdict(run, "clean_accuracy>=0.9", point=True) == (True, "0.9000")
    assert verdict(run, "abstained<=0.1", point=True) == (True, "0.1000")
    assert verdict(run, "abstained<0.1", point=True) == (False, "0.1000")
    assert verdict(run, "inputs>=11") == (False, "10")
    # One of ten certificates at 0.001 is false with probability 0.00996: none at 95%.
    assert verdict(run, "robust_accuracy@1>=0.8", point=True) == (True, "0.8000")


def test_the_population_needs_more(run: RunSummary) -> None:
    assert not verdict(run, "accuracy@1>=0.6")[0]  # 8 of 10 show 0.493
    assert verdict(run, "accuracy@1>=0.49")[0]
    (robust,) = gate(run, ["robust@1>=0.493"]).verdicts
    (certified,) = gate(run, ["accuracy@1>=0.493"]).verdicts
    assert (robust.holds, certified.holds) == (False, True)  # alpha is taken off
    (found,) = gate(run, ["accuracy@1>=0.6"]).verdicts
    assert found.needed is not None
    assert "inputs like these would show it" in found.sentence()
    assert not verdict(run, "abstained<=0.2")[0]
    assert verdict(run, "abstained<=0.4")[0]


def test_the_method_is_chosen_before(run: RunSummary, make_result: Make) -> None:
    assert gate(run, ["accuracy@1.2>=0.1"]).method == "np"
    assert gate(run, ["accuracy@1.2>=0.1"], method="truncated")
    with pytest.raises(InvalidInput, match="one of np, truncated"):
        gate(run, ["accuracy@1.2>=0.1"], method="tailored")
    both = {"truncated": 1.0, "rescaled": 1.0}
    without = RunSummary.from_results("two", [make_result(0, both)])
    with pytest.raises(InvalidInput, match="name the `method`"):
        gate(without, ["accuracy@1.2>=0.1"])


def test_what_a_run_does_not_tell_is_refused(make_result: Make) -> None:
    unlabelled = RunSummary.from_results("u", [make_result(0, {"np": 1.0}, label=None)])
    with pytest.raises(InvalidInput, match="u has no labels"):
        gate(unlabelled, ["accuracy@0.5>=0.5"])
    assert gate(unlabelled, ["abstained<=0.99"])
    table = RunSummary.from_results("t", [make_result(0, {"np": 1.0})])
    with pytest.raises(InvalidInput, match="does not say its alpha"):
        gate(table, ["robust_accuracy@0.5>=0.5"])
    for text in ("", "accuracy@0.5>=0.5"):  # a text is no list of texts
        with pytest.raises(InvalidInput, match="must list"):
            gate(table, text)


def test_names_cannot_act_in_any_format(make_result: Make) -> None:
    name = "</testcase><script>|\x1b[2J"
    run = RunSummary.from_results(name, [make_result(0, {"np": 1.0})])
    found = gate(run, ["accuracy@0.5>=0.99"])
    root = ElementTree.fromstring(gate_junit(found))
    assert [case.tag for case in root] == ["testcase"]
    assert "<script>" not in gate_markdown(found)
    assert "\x1b" not in gate_markdown(found)


def test_the_command_writes_and_exits(
    tmp_path: Path, make_result: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = store(tmp_path / "run", make_result)  # five inputs of radius 1
    junit, summary, page = tmp_path / "g.xml", tmp_path / "s.md", tmp_path / "p.html"
    outputs = ["--junit", str(junit), "--summary", str(summary), "--output", str(page)]
    words = ["gate", f"the run={folder}", "--require", "accuracy@1>=0.5", *outputs]
    assert main([*words, "--require", "mean_radius>=0.9", "--point"]) == 0
    assert "gate passed: 2 of 2 hold" in capsys.readouterr().out
    assert main([*words, "--require", "accuracy@1.1>=10%"]) == 4  # replaces its own files
    out = capsys.readouterr().out
    assert "NOT MET accuracy@1.1>=0.1: at least 0.0000 for the population" in out
    assert "gate FAILED: 1 of 2 hold" in out
    root = ElementTree.parse(junit).getroot()
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert summary.read_text().count("## dsrs gate") == 2
    assert "<code>accuracy@1.1&gt;=0.1</code>" in page.read_text()
    assert main([*words[:4], "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert (fields["passed"], fields["run"], fields["method"]) == (True, "the run", "np")
    assert fields["requirements"][0]["low"] == pytest.approx(0.05 ** (1 / 5))


def test_nothing_foreign_is_replaced(
    tmp_path: Path, make_result: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, mine = store(tmp_path / "run", make_result), tmp_path / "pytest.xml"
    mine.write_text('<testsuite name="pytest"/>')
    assert main(["gate", str(folder), "--require", "inputs>1", "--junit", str(mine)]) == 2
    assert "is not a file of `dsrs gate`" in capsys.readouterr().err
    assert mine.read_text() == '<testsuite name="pytest"/>'


def test_from_python(tmp_path: Path, make_result: Make) -> None:
    folder = store(tmp_path / "run", make_result)
    assert dsrs.gate(folder, ["accuracy@1>=0.5"])
    assert not dsrs.gate(folder, ["accuracy@1>=0.6"])


def test_a_report_shows_the_verdicts_of_its_runs(
    tmp_path: Path, make_result: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(store(tmp_path / name, make_result)) for name in ("a", "b")]
    words = ["report", *runs, "--resamples", "100", "--require", "accuracy@1>=0.5"]
    assert main(words) == 0
    assert capsys.readouterr().out.count("gate passed: 1 of 1 hold") == 2
    assert main([*words, "--json"]) == 0
    assert [one["run"] for one in json.loads(capsys.readouterr().out)["gates"]] == ["a", "b"]
