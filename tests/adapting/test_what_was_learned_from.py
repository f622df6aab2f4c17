"""What candidates learned from, in the record, the table and the page."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from dsrs.adapting import Adapted, adapt
from dsrs.classifiers import from_onnx
from dsrs.cli import adapted_text, schema_of
from dsrs.cli.main import main
from dsrs.reports import write_candidates_page

pytest.importorskip("onnx", reason="needs the extra `onnx`")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")

from adapting.test_adapt import QUICK, fragile_model, images


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Adapted:
    return adapt(
        from_onnx(fragile_model()),
        images(8),
        [1, 4, 6, 7],
        tmp_path_factory.mktemp("learned") / "out",
        ways=["dct", "statistics"],
        budget=QUICK,
        unlabelled=(images(100, 0.36), range(70)),
    )


def test_the_record_says_what_was_learned_from(adapted: Adapted) -> None:
    jsonschema.Draft202012Validator(schema_of("adapt")).validate(adapted.to_dict())
    card = json.loads((adapted.folder / "adapted.json").read_text())
    fingerprint = images(100, 0.36).fingerprint
    assert card["unlabelled"] == {"name": "arrays", "fingerprint": fingerprint, "inputs": 70}
    assert (card["votes"], card["seed"]) == (QUICK.votes, QUICK.seed)
    plain, dct, statistics = card["candidates"]
    assert plain["learned"] is dct["learned"] is None
    best = adapted.candidates[1].tuned.best.law.sigma
    assert statistics["learned"] == {"inputs": 70, "sigma": 1.25 * best, "epochs": None}


def test_statistics_are_shown_with_the_denoiser_in_front_of_them(adapted: Adapted) -> None:
    statistics = adapted.candidates[2]
    assert (statistics.name, statistics.title) == ("statistics", "statistics behind dct")
    assert (adapted.folder / "laws" / "statistics.json").exists()
    sigma = f"{statistics.learned.sigma:.3g}" if statistics.learned else ""
    said = f"statistics behind dct learned from arrays, 70 inputs, under sigma = {sigma}"
    page = write_candidates_page(adapted.folder).read_text()
    assert '<th scope="row">statistics behind dct</th>' in page
    for text in (page, adapted_text(adapted)):
        assert said in text


def test_few_inputs_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, data = from_onnx(fragile_model()), images(8)
    for count, warned in ((64, False), (63, True)):
        others, folder = (images(64, 0.36), range(count)), tmp_path / str(count)
        ways = ["statistics"]
        found = adapt(model, data, [1, 4], folder, ways=ways, budget=QUICK, unlabelled=others)
        assert found.candidates[1].learned is not None
        assert found.candidates[1].learned.inputs == count
        assert found.candidates[1].title == "statistics"
        assert ("from 63 different inputs, again and again" in caplog.text) == warned


def test_the_command_names_the_data_without_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.onnx").write_bytes(fragile_model())
    for name, count, grey in (("test", 8, 0.35), ("others", 64, 0.36)):
        pixels, labels = np.asarray(images(count, grey).images), np.arange(count) % 2
        np.savez(tmp_path / f"{name}.npz", images=pixels, labels=labels)
    words = ["adapt", "--model", "net.onnx", "--data", "test.npz", "--train-data"]
    words += [str(tmp_path / "others.npz"), "--by", "statistics", "--n", "300", "--votes", "64"]
    assert main([*words, "--inputs", "4", "--workers", "1", "--quiet", "--output", "out"]) == 0
    said = "statistics learned from others.npz, 64 inputs, under sigma"
    assert said in capsys.readouterr().out
    page = Path("out/candidates.html").read_text()
    assert said in page
    assert str(tmp_path) not in page
