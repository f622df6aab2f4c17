"""A new kind of model is one file and one line: it then goes every way that the others go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from classifiers import threshold_file
from dsrs.classifiers import ADAPTERS, Classifier, load_classifier, register
from dsrs.cli.main import known_commands, main
from dsrs.errors import ClassifierError, InvalidInput
from dsrs.votes import ModelSpec

NAME = "net.threshold"


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A model of the new kind and data for it in the working directory."""
    monkeypatch.chdir(tmp_path)
    Path(NAME).write_text("0.5\n")
    images = np.stack([np.full((4, 4), level, np.float32) for level in (0.2, 0.9, 0.8)])
    np.savez("data.npz", images=images, labels=[0, 1, 1])
    register(threshold_file.ADAPTER)
    yield
    ADAPTERS.remove(threshold_file.ADAPTER)


@pytest.mark.usefixtures("registered")
def test_the_door_opens_for_its_names() -> None:
    model = load_classifier(NAME, input_shape=(1, 4, 4))
    assert isinstance(model, Classifier)
    assert model.classify(np.full((2, 1, 4, 4), 0.7, np.float32)).tolist() == [1, 1]
    # What every kind can do, the door does for it.
    shifted = load_classifier(NAME, input_shape=(1, 4, 4), mean=(0.4,), std=(0.5,))
    assert shifted.classify(np.full((1, 1, 4, 4), 0.6, np.float32)).tolist() == [0]
    with pytest.raises(InvalidInput, match=r"`weights` goes with .*package\.module:name"):
        load_classifier(NAME, input_shape=(1, 4, 4), weights="w.safetensors")
    with pytest.raises(InvalidInput, match="no option `shape`; the options are bounds"):
        load_classifier(NAME, shape=(1, 4, 4))
    with pytest.raises(ClassifierError, match=r"expected net\.onnx.*net\.threshold"):
        load_classifier("net.unknown")


@pytest.mark.usefixtures("registered")
def test_it_is_certified_continued_shown_exported_and_attacked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["certify", "--model", NAME, "--data", "data.npz", "--sigma", "0.5", "--n", "200"]
    words += ["--output", "run", "--quiet", "--workers", "1"]
    assert main([*words, "--stop", "1"]) == 0
    assert main(words) == 0
    capsys.readouterr()
    assert main(["show", "run"]) == 0
    shown = capsys.readouterr().out
    assert NAME in shown
    assert "3 inputs" in shown
    assert main(["export", "run", "--format", "csv"]) == 0
    assert Path("run.csv").read_text().count("certified") >= 3
    assert (
        main(["attack", "run", "--trust-code", "--budget", "5000", "--quiet", "--workers", "1"])
        == 0
    )
    Path(NAME).write_text("0.4\n")
    assert main(words) == 2
    assert "fingerprint" in capsys.readouterr().err


@pytest.mark.usefixtures("registered")
def test_another_machine_builds_it_by_name() -> None:
    options = {"input_shape": (1, 4, 4)}
    known = load_classifier(NAME, **options)
    assert ModelSpec.of(NAME, options, known).build("here").fingerprint == known.fingerprint


def test_help_names_every_kind() -> None:
    options = known_commands(("certify",)).by_name["certify"].all_options()
    (text,) = (option.help for option in options if option.name == "--model")
    for adapter in ADAPTERS:
        assert adapter.form.replace("package.", "") in text
