"""`dsrs route` and a routed folder on every command that takes a model or a run."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from dsrs.classifiers import load_classifier
from dsrs.classifiers.routed import read_route
from dsrs.cli.main import main
from dsrs.errors import ClassifierError
from dsrs.noise.stream import Stream
from dsrs.store import open_run
from dsrs.votes import InlineCollector, Setting, WorkUnit
from dsrs.votes.executors import ModelSpec
from dsrs.votes.executors.actor import VoteActor

PLANTED = Path(__file__).parent / "planted.py"
ROUTER = ("--router", f"{PLANTED}:router", "--router-sigma", "0.5")


@pytest.fixture
def data(tmp_path: Path) -> str:
    x = np.array([[-2, 0.6, 0, 0], [-0.05, 0.6, 0, 0], [1, -0.4, 0, 0]], dtype=np.float32)
    np.savez(tmp_path / "data.npz", images=x, labels=np.array([1, 1, 0]))
    return str(tmp_path / "data.npz")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    target = str(tmp_path / "routed")
    command = ["route", "--model", f"{PLANTED}:expert", "--sigmas", "0.25,1", *ROUTER]
    assert main([*command, "--output", target]) == 0
    return target


def certify(folder: str, data: str, run: str, *more: str) -> int:
    command = ["certify", "--model", folder, "--data", data, "--bounds", "-4", "4", "--n", "500"]
    return main([*command, "--q", "none", "--output", run, "--quiet", *more])


def test_a_folder_names_router_and_experts(folder: str) -> None:
    route = read_route(folder)
    assert [expert.sigma for expert in route.experts] == [0.25, 1.0]
    assert route.router.sigma == 0.5
    assert Path(route.router.model.rpartition(":")[0]).samefile(PLANTED)


def test_experts_of_a_file_have_models_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "experts.toml"
    file.write_text(
        f'[[experts]]\nmodel = "{PLANTED}:expert"\nsigma = 0.25\n\n'
        f'[[experts]]\nmodel = "{PLANTED}:expert"\nsigma = 0\n'
    )
    output = str(tmp_path / "routed")
    assert main(["route", "--experts", str(file), *ROUTER, "--output", output]) == 0
    assert [expert.sigma for expert in read_route(output).experts] == [0.25, 0.0]


def test_every_command_takes_a_routed_folder(
    folder: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "run")
    assert certify(folder, data, run, "--stop", "2") == 0
    assert certify(folder, data, run) == 0  # goes on
    printed = capsys.readouterr().out
    assert "routed: inputs by expert 0: 2, 1: 1" in printed
    assert main(["check", run, "--quiet"]) == 0
    assert main(["check", run, "--votes", "1", "--quiet", "--model", folder]) == 0
    again = str(tmp_path / "again")
    assert main(["recertify", run, "--alpha", "0.01", "--output", again]) == 0
    assert main(["check", again, "--quiet"]) == 0
    assert main(["show", run, "--index", "1"]) == 0
    for form in ("csv", "jsonl"):
        assert main(["export", run, "--format", form, "--output", str(tmp_path / f"x.{form}")]) == 0
    tables, page, single = tmp_path / "tables", tmp_path / "report.html", str(tmp_path / "single")
    assert certify(f"{PLANTED}:expert", data, single, "--sigma", "0.25") == 0
    assert main(["report", run, single, "--output", str(tmp_path / "both.html")]) == 0
    assert "run (routed)" in (tmp_path / "both.html").read_text()
    assert main(["report", run, "--output", str(page), "--tables", str(tables)]) == 0
    assert "Radius of expert 1" in page.read_text()
    assert "routed between sigma 0.25, 1, router: sigma = 0.5" in page.read_text()
    (reported,) = json.loads((tables / "summary.json").read_text())["runs"]
    assert [one["named"] for one in reported["routing"]] == [0, 0, 1]
    predict = ["predict", "--model", folder, "--data", data, "--bounds", "-4", "4", "--json"]
    capsys.readouterr()
    assert main(predict) == 0
    assert [one["class"] for one in json.loads(capsys.readouterr().out)] == [1, 1, 0]


def test_a_report_shows_single_noises_and_the_oracle_beside_the_routed_run(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Small noise certifies more of the first input, large noise of the second.
    images = np.array([[-0.05, 0.4, 0, 0], [0.5, 1.8, 0, 0]], dtype=np.float32)
    data = str(tmp_path / "both.npz")
    np.savez(data, images=images, labels=np.array([1, 1]))
    runs = {name: str(tmp_path / name) for name in ("run", "small", "large")}
    assert certify(folder, data, runs["run"]) == 0
    for name, sigma in (("small", "0.25"), ("large", "1")):
        assert certify(f"{PLANTED}:expert", data, runs[name], "--sigma", sigma) == 0
    capsys.readouterr()
    page = tmp_path / "page.html"
    assert main(["report", *runs.values(), "--json", "--output", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in found["runs"]] == ["run", "small", "large", "oracle"]
    means = {
        one["run"]: one["value"]
        for one in found["numbers"]
        if one["quantity"] == "average radius" and not one["gain"]
    }
    radii = {}
    for name, path in runs.items():
        with open_run(path) as opened:
            radii[name] = [one.certificates["np"].radius for one in opened.results()]
    best = np.maximum(radii["small"], radii["large"])
    assert means["oracle"] == pytest.approx(np.mean(best), abs=1e-3)
    assert means["oracle"] > max(np.mean(radii["small"]), np.mean(radii["large"]))
    assert any("No classifier knows the label" in one for one in found["caveats"])
    assert "on each input the largest radius of small, large; 2 inputs" in page.read_text()
    # With one single noise there is nothing to choose from; without a routed run, nobody asks.
    for some in (("run", "small"), ("small", "large")):
        assert main(["report", *(runs[name] for name in some), "--json"]) == 0
        assert "oracle" not in capsys.readouterr().out


def test_shards_of_a_routed_run_are_the_whole(folder: str, data: str, tmp_path: Path) -> None:
    parts = [str(tmp_path / f"part{n}") for n in (1, 2)]
    for n, part in enumerate(parts, 1):
        assert certify(folder, data, part, "--shard", f"{n}/2") == 0
    whole, merged = str(tmp_path / "whole"), str(tmp_path / "merged")
    assert certify(folder, data, whole) == 0
    assert main(["merge", *parts, "--output", merged]) == 0
    tables = []
    for run in (whole, merged):
        out = tmp_path / f"{Path(run).name}.jsonl"
        assert main(["export", run, "--format", "jsonl", "--output", str(out)]) == 0
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        tables.append([(row["index"], row["radius"], row["proof"]) for row in rows])
    assert tables[0] == tables[1]


def test_an_actor_of_a_cluster_counts_the_same_votes(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every member has its own noise there too; the folder is named by its whole path."""
    monkeypatch.chdir(tmp_path)
    options = {"input_shape": (4,), "bounds": (-4.0, 4.0)}
    here = load_classifier("routed", **options)
    actor = VoteActor()
    spec = ModelSpec.of("routed", options, here)
    monkeypatch.chdir("/")
    actor.prepare(spec, 1, "a node")
    for place, law in enumerate((here.router_law, *here.expert_laws)):
        assert law is not None
        unit = WorkUnit(0, Stream("estimation", law, place), 0, 256)
        x, setting = np.array([-0.05, 0.6, 0, 0], "f4"), Setting(seed=0, batch=64)
        counts, _, _ = actor.count(x, setting, unit)
        expected = InlineCollector(Event()).collect(here, x, setting, unit)
        assert np.array_equal(counts.votes, expected.votes)
        assert counts.votes.sum() == 256


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--bound", "randomized"], "routed models have plain bounds"),
        (["--dry-run"], "`dsrs route --data` predicts"),
        (["--budget", "1e6"], "`dsrs route --data` predicts"),
    ],
)
def test_options_of_single_noises_are_refused_with_the_way_out(
    options: list[str],
    said: str,
    folder: str,
    data: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["certify", "--model", folder, "--data", data, "--bounds", "-4", "4", "--q", "none"]
    assert main([*words, "--output", str(tmp_path / "run"), *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_router_of_ones_own_is_another_model(folder: str, data: str, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    assert certify(folder, data, run, "--router", f"{PLANTED}:other_router") == 0
    assert certify(folder, data, run) == 2  # results are never mixed


def test_what_does_not_fit_is_refused(
    folder: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "run")
    assert certify(folder, data, run, "--sigma", "0.5") == 2
    assert "its own noise" in capsys.readouterr().err
    assert certify(f"{PLANTED}:expert", data, run, "--sigma", "1", "--router", "x.onnx") == 2
    assert "goes with a routed folder" in capsys.readouterr().err
    three = ["route", "--model", f"{PLANTED}:expert", "--sigmas", "0.25,0.5,1", *ROUTER]
    assert main([*three, "--output", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()
    file = tmp_path / "routed" / "route.toml"
    file.write_text('[router]\nmodel = "x"\nsigma = 0\n')
    with pytest.raises(ClassifierError, match="one table"):
        read_route(tmp_path / "routed")
