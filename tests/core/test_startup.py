"""What is loaded when, and how long it takes: as ratios to the import of NumPy in one run."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from dsrs.cli.main import VERBS

HEAVY = {"numpy", "scipy", "numba", "matplotlib", "torch", "onnxruntime", "PIL", "sklearn"}


def loaded_by(code: str) -> set[str]:
    """The top-level packages that a fresh interpreter has loaded after `code`."""
    report = "\nimport sys; print('LOADED', *{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("LOADED")[2].split())


def processor_seconds(*words: str) -> float:
    """Of a fresh interpreter, the best of three: what other programs do matters least to it."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        best = min(best, spent)
    return best


def test_import_loads_nothing_heavy() -> None:
    assert not loaded_by("import dsrs") & HEAVY


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_loads_nothing_heavy(verb: str) -> None:
    words = [*verb.rstrip("_").split(), "--help"]
    code = f"""
from dsrs.cli.main import main
try:
    main({words!r})
except SystemExit as stop:
    assert stop.code == 0
"""
    assert not loaded_by(code) & HEAVY


def test_a_verb_loads_no_other_verb() -> None:
    code = """
import sys
from dsrs.cli.main import VERBS, build_parser, main
try:
    main(["radius", "--help"])
except SystemExit:
    pass
assert [verb for verb in VERBS if f"dsrs.cli.{verb}" in sys.modules] == ["radius"]
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_one_certificate_needs_no_compiler() -> None:
    code = """
from dsrs import GeneralizedGaussian, Interval, certify
certify(GeneralizedGaussian(784, 0.5, 380), Interval(0.97, 0.98))
"""
    assert "numba" not in loaded_by(code)


def test_help_takes_less_than_three_imports_of_numpy() -> None:
    numpy = processor_seconds("-c", "import numpy")
    assert processor_seconds("-m", "dsrs", "--help") < 3 * numpy
    assert processor_seconds("-m", "dsrs", "certify", "--help") < 3 * numpy
    assert processor_seconds("-c", "import dsrs") < numpy


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dsrs", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("dsrs ")
