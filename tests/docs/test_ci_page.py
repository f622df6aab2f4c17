"""The commands of the workflow of docs/ci.md run, on the embedded model and images."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest

from docs.run_examples import blocks

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "ci.md"
STEP = re.compile(r"- name: (.+)\n(?: +if: .+\n)? +run: \|\n((?: {10}.*\n)+)")


@pytest.fixture
def workflow() -> str:
    (text,) = blocks(PAGE, "yaml")
    return text


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The folder of a job: a model and data as checked out, and a `dsrs` on the path."""
    demo = Path(str(files("dsrs") / "demo"))
    (tmp_path / "model").mkdir()
    shutil.copy(demo / "model.onnx", tmp_path / "model" / "net.onnx")
    shutil.copy(demo / "images.npz", tmp_path / "model" / "test.npz")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "dsrs"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dsrs "$@"\n')
    program.chmod(0o755)
    return tmp_path


def sh(script: str, job: Path, summary: Path) -> int:
    path = f"{job / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "GITHUB_STEP_SUMMARY": str(summary)}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=job, env=environment)
    return done.returncode


def test_the_commands_of_the_workflow_run(workflow: str, job: Path) -> None:
    pytest.importorskip("onnxruntime")
    steps = {name: dedent(script) for name, script in STEP.findall(workflow)}
    assert list(steps) == ["Install", "Certify", "Gate", "Compare with the released model"]
    summary = job / "summary.md"
    certify = steps["Certify"].strip() + " --quiet"
    assert sh(certify.replace("--n 1000", "--n 500"), job, summary) == 0
    (job / "runs" / "new").rename(job / "runs" / "main")  # the released model's run
    assert sh(certify, job, summary) == 0
    assert sh(steps["Gate"], job, summary) == 0
    assert sh(steps["Compare with the released model"], job, summary) == 0
    text = summary.read_text()
    assert "**Passed.** new, Neyman-Pearson: sigma = 0.5, n = 1,000, alpha = 0.001" in text
    assert "the runs differ in n (500 and 1,000)" in text
    assert ElementTree.parse(job / "gate.xml").getroot().get("failures") == "0"
    page = (job / "robustness.html").read_text()
    assert 'id="requirements"' in page
    assert 'id="comparison"' in page
    # A requirement that no model meets fails the job with the exit code of its own.
    assert sh(steps["Gate"].replace("0.40", "0.99"), job, summary) == 4
    assert "**not met** | `accuracy@0.5>=0.99`" in summary.read_text()


def test_the_workflow_is_yaml(workflow: str) -> None:
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load(workflow)["jobs"]
    assert [step.get("name") for step in jobs["gate"]["steps"] if "run" in step] == [
        *("Install", "Certify", "Gate", "Compare with the released model"),
    ]
