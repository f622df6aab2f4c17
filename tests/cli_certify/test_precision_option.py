"""--precision: the same in every command, and never mixed in one run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_certify.small_run import Certify, contents
from dsrs.cli.main import main
from dsrs.store import open_run

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'dsrs[torch]'")

NET = ("--model", "torch_classifier:net", "--target", "predicted")
HALF = ("--precision", "bfloat16")


def test_a_run_is_of_one_precision(
    certify: Certify, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify(*NET, *HALF, "--stop", "3") == 0
    assert certify(*NET, "--stop", "4") == 2
    assert "torch.compile (--precision, --compile)" in capsys.readouterr().err
    assert certify(*NET, *HALF, "--stop", "5") == 0
    with open_run(tmp_path / "run") as run:
        assert run.config["source"]["precision"] == "bfloat16"
        assert run.config["model"]["fingerprint"].endswith(" bfloat16")
        for result in run.results():
            for certificate in result.certificates.values():
                assert certificate.subject is not None
                assert (certificate.subject.model or "").endswith(" bfloat16")
    assert "precision" in (tmp_path / "run" / "run.toml").read_text()
    assert certify(*NET, "--stop", "5", output="plain") == 0
    assert contents(tmp_path / "run") != contents(tmp_path / "plain")


def test_other_commands_take_the_precision_of_the_run(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify(*NET, *HALF, "--stop", "2") == 0
    again = (*NET[:2], "--data", "data.npz")
    assert main(["check", "run", "--votes", "2", "--quiet", *again]) == 2
    assert main(["check", "run", "--votes", "2", "--quiet", *again, *HALF]) == 0
    served = ("served", "run", *NET[:2], "--num-classes", "2", "--sigma", "0.5", "--k", "4")
    capsys.readouterr()
    assert main([*served]) == 1
    assert "bfloat16  " in capsys.readouterr().out  # the end of a fingerprint is shown
    assert main([*served, *HALF]) == 0
    assert main(["attack", "run", "--trust-code", "--budget", "3000", "--quiet"]) == 0
    capsys.readouterr()
    asked = ("predict", *again, "--sigma", "0.5", "--n", "100", "--indices", "0", "--json")
    assert main([*asked, *HALF]) == 0
    assert json.loads(capsys.readouterr().out)
    assert (
        main(
            [
                "landscape",
                *again,
                *HALF,
                "--votes",
                "200",
                "--stop",
                "2",
                "--quiet",
                "--output",
                "look",
            ]
        )
        == 0
    )


def test_an_onnx_file_has_the_precision_that_is_written_in_it(
    certify: Certify, capsys: pytest.CaptureFixture[str]
) -> None:
    assert certify("--model", "net.onnx", *HALF) == 2
    assert "--precision 'bfloat16' goes with" in capsys.readouterr().err
