"""What is not what a function takes is refused by name, with an error of this package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dsrs
from dsrs.classifiers import from_callable
from dsrs.cli.main import main
from dsrs.conformal import SetPlan, calibrate
from dsrs.datasets import Dataset

X = np.full((3, 4), 0.9, dtype=np.float32)


def scores(batch: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    mean = batch.reshape(len(batch), -1).mean(axis=1)
    return np.stack([0.5 - mean, mean - 0.5], axis=1)


@pytest.fixture(scope="module")
def run() -> dsrs.CertifiedRun:
    smoothed = dsrs.smooth(scores, sigma=0.5, num_classes=2, input_shape=(4,), n=60, method="np")
    made: dsrs.CertifiedRun = smoothed.certify(X, [1, 1, 0])
    return made


def test_check_takes_a_run_its_folder_and_its_path(run: dsrs.CertifiedRun) -> None:
    for what in (run, run.path, str(run.path)):
        checked = dsrs.check(what)
        assert [verdict.proved for verdict in checked] == [True, True]
        assert checked
        assert repr(checked) == "2 of 2 proved, 1 claim nothing"


def test_check_takes_a_file(run: dsrs.CertifiedRun, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(run[0].to_json())
    assert dsrs.check(file)
    file.write_text('{"radius": 5}')
    assert not dsrs.check(file)


def test_gate_and_compare_take_a_run_and_count_its_inputs_alone(
    run: dsrs.CertifiedRun, tmp_path: Path
) -> None:
    assert dsrs.gate(run, ["inputs>=3"])
    assert dsrs.gate(str(run.path), ["inputs>=3"])
    some = dsrs.CertifiedRun(run._folder, [0, 1])
    assert not dsrs.gate(some, ["inputs>=3"])
    assert dsrs.compare(some, run.path).size == 2


WRONG_PATH: Any = b"z"
WRONG: dict[str, Callable[[dsrs.CertifiedRun], object]] = {
    "check a number": lambda run: dsrs.check(5),
    "check a list": lambda run: dsrs.check([run[0]]),
    "check nothing": lambda run: dsrs.check(None),
    "check what is not there": lambda run: dsrs.check("nope"),
    "check a device": lambda run: dsrs.check("/dev/zero"),
    "gate nothing": lambda run: dsrs.gate(None, ["inputs>=1"]),  # type: ignore[arg-type]
    "gate of numbers": lambda run: dsrs.gate(run, [5]),  # type: ignore[list-item]
    "gate of a number": lambda run: dsrs.gate(run, 5),  # type: ignore[arg-type]
    "compare nothing": lambda run: dsrs.compare(run, None),  # type: ignore[arg-type]
    "a slice": lambda run: run[0:1],  # type: ignore[index]
    "a text": lambda run: run["a"],  # type: ignore[index]
    "save to bytes": lambda run: dsrs.smooth(
        scores, sigma=0.5, num_classes=2, input_shape=(4,), n=60
    ).certify(X, save=WRONG_PATH),
    "no method": lambda run: dsrs.smooth(
        scores, sigma=0.5, num_classes=2, input_shape=(4,), method=None
    ),
    "certify nothing": lambda run: dsrs.certify(None, None),  # type: ignore[arg-type]
    "a radius of text": lambda run: SetPlan(
        dsrs.GeneralizedGaussian(4, 0.5),
        radius="x",  # type: ignore[arg-type]
    ),
    "no law": lambda run: SetPlan(None, radius=1.0),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_of_another_type_is_refused(name: str, run: dsrs.CertifiedRun) -> None:
    with pytest.raises(dsrs.DsrsError):
        WRONG[name](run)


def test_a_radius_beyond_every_number_leaves_sets_of_all_classes() -> None:
    model = from_callable(scores, (4,), 2)
    data = Dataset.from_arrays(np.repeat(X, 10, axis=0), [1] * 30)
    plan = SetPlan(dsrs.GeneralizedGaussian(4, 0.5), radius=1e308)
    assert calibrate(model, data, plan).threshold == np.inf


@pytest.mark.parametrize(
    "words",
    [
        "check /dev/zero",
        "gate /dev/zero --require inputs>=1",
        "certify --model net.py:net --data data.npz --sigma 1 --output run --device cpu:9999999999",
    ],
)
def test_devices_of_the_system_and_of_nobody_end_at_once(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", images=X, labels=[1, 1, 0])
    Path("net.py").write_text("import torch\nnet = torch.nn.Linear(4, 2)\n")
    assert main(words.split()) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
