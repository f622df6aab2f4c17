"""Why nothing is certified: each cause is found, and no cause where there is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cli_certify.small_run import Certify
from dsrs.certifying import certify_run
from dsrs.classifiers import Classifier, from_callable
from dsrs.datasets import Dataset
from dsrs.laws import GeneralizedGaussian
from dsrs.measures import diagnose, hopeless_votes, renamed_classes
from dsrs.methods import Plan
from dsrs.store import open_run

Batch = NDArray[np.float32]
INPUTS, SIDE = 24, 4


def columns(batch: Batch) -> Batch:
    """The class is the brightest of four columns."""
    found: Batch = batch.reshape(len(batch), SIDE, SIDE).mean(axis=1)
    return found


def renamed(batch: Batch) -> Batch:
    """The same model, whose classes are numbered 1, 2, 3, 0."""
    return np.roll(columns(batch), 1, axis=1)


@pytest.fixture
def data() -> Dataset:
    labels = np.arange(INPUTS) % SIDE
    images = np.random.default_rng(0).uniform(0.2, 0.4, (INPUTS, SIDE, SIDE)).astype(np.float32)
    images[np.arange(INPUTS), :, labels] += 0.5
    return Dataset.from_arrays(images, labels)


def told(folder: Path, model: Classifier, data: Dataset, sigma: float, n: int) -> list[str]:
    """What is said of a run, with the answers of the model without noise."""
    plan = Plan(GeneralizedGaussian(SIDE**2, sigma), ("np",), n=n, batch=64)
    certify_run(model, data, plan, range(INPUTS), folder, workers=1)
    with open_run(folder) as run:
        return diagnose(run.results(), plan)


def model_of(function: object) -> Classifier:
    return from_callable(function, (1, SIDE, SIDE), SIDE, name="columns")  # type: ignore[arg-type]


def test_a_good_run_needs_no_diagnosis(data: Dataset, tmp_path: Path) -> None:
    assert told(tmp_path / "run", model_of(columns), data, 0.1, 200) == []


def test_labels_in_another_order(data: Dataset, tmp_path: Path) -> None:
    (text,) = told(tmp_path / "run", model_of(renamed), data, 0.1, 200)
    assert "the model answers the label 0 as 1, 1 as 2, 2 as 3, 3 as 0" in text
    assert "24 of 24 inputs are right without noise, and 0 as they are" in text


def test_noise_that_is_too_large(data: Dataset, tmp_path: Path) -> None:
    (text,) = told(tmp_path / "run", model_of(columns), data, 50.0, 400)
    assert "right on 24 of 24 inputs without noise" in text
    assert "use a smaller --sigma" in text


def test_votes_that_are_too_few(data: Dataset, tmp_path: Path) -> None:
    text = told(tmp_path / "run", model_of(columns), data, 0.6, 12)[-1]
    assert "votes do not prove at alpha = 0.001; use more votes, such as --n" in text


def test_a_model_of_other_data(data: Dataset, tmp_path: Path) -> None:
    (text,) = told(tmp_path / "run", model_of(lambda b: -columns(b)), data, 0.1, 400)
    assert "right on 0 of 24 inputs without any noise: check that the data" in text


def test_few_inputs_with_many_classes_are_not_called_renamed() -> None:
    generator = np.random.default_rng(0)
    said = 0
    for _ in range(40):
        answers, labels = (generator.integers(0, 10, 15) for _ in range(2))
        said += renamed_classes(answers, labels) is not None
    assert said <= 2
    labels = np.arange(40) % 5
    assert renamed_classes(4 - labels, labels) == {0: 4, 1: 3, 2: 2, 3: 1, 4: 0}
    assert renamed_classes(labels, labels) is None


def test_nine_votes_can_never_certify_at_a_thousandth() -> None:
    text = hopeless_votes(9, 0.001)
    assert text is not None
    assert "9 votes can never certify at alpha = 0.001" in text
    assert "at least 10 votes" in text
    assert hopeless_votes(10, 0.001) is None


def test_the_command_refuses_votes_that_are_hopeless(
    certify: Certify, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert certify("--n", "9") == 2
    assert "9 votes can never certify" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_command_and_show_say_why(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    from dsrs.cli.main import main

    assert certify("--n", "64", "--sigma", "40", "--k", "0", "--q", "none", "--quiet") == 0
    assert "why so little: " in capsys.readouterr().out
    assert main(["show", "run"]) == 0
    assert "why so little: " in capsys.readouterr().out
