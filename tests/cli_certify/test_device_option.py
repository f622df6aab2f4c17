"""--device with several devices: the same run, also where it was stopped and continued."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from cli_certify.small_run import Certify, contents, make_data, start_certify
from cli_certify.test_stops import end, finished, wait_for

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'dsrs[torch]'")

TWO = ("--device", "cpu:0,cpu:1")
SLOW = "torch_classifier:slow"


def test_two_devices_stopped_and_continued_make_the_same_run(
    certify: Certify, tmp_path: Path
) -> None:
    make_data(tmp_path / "data.npz", 12)
    process = start_certify(tmp_path, "stopped", *TWO, "--workers", "2", model=SLOW)
    wait_for(process, tmp_path / "stopped", 2)
    code, _ = end(process, signal.SIGINT)
    assert code == 130
    assert 2 <= finished(tmp_path / "stopped", "rw") < 12
    assert certify("--model", SLOW, *TWO, "--workers", "2", output="stopped") == 0
    assert certify("--model", SLOW, "--device", "cpu:0", output="one") == 0
    found = contents(tmp_path / "stopped")
    assert len(found) == 12
    assert found == contents(tmp_path / "one")


def test_devices_are_of_one_type(certify: Certify, capsys: pytest.CaptureFixture[str]) -> None:
    for device, complaint in (
        ("cpu:0,cuda:0", "different devices of one type"),
        ("cpu:0,cpu:0", "different devices of one type"),
    ):
        assert certify("--model", "torch_classifier:net", "--device", device) == 2
        assert complaint in capsys.readouterr().err
    assert certify("--model", "torch_classifier:net", *TWO, "--cluster", "local") == 2
    assert "one type of device with --cluster" in capsys.readouterr().err
