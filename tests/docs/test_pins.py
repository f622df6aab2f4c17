"""What the two commands of the README install is pinned, down to the last dependency."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from pathlib import Path

import pytest

pytest.importorskip("packaging")
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PINS = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")


def pinned(python: str) -> dict[str, str]:
    """Name -> version of what holds on this Python."""
    return {
        canonicalize_name(pin.name): next(iter(pin.specifier)).version
        for pin in PINS
        if pin.marker is None or pin.marker.evaluate({"python_version": python})
    }


def installed_for(name: str, extras: set[str], seen: set[str]) -> None:
    """Collect the names of `name` and of all that it requires here."""
    for text in requires(name) or []:
        needed = Requirement(text)
        holds = needed.marker is None or any(
            needed.marker.evaluate({"extra": extra}) for extra in extras | {""}
        )
        key = canonicalize_name(needed.name)
        if not holds or (key in seen and not needed.extras):
            continue
        try:
            distribution(needed.name)
        except PackageNotFoundError:
            continue  # an extra that this environment does not have
        if key != "dsrs":
            seen.add(key)
        installed_for(needed.name, set(needed.extras), seen)


def test_everything_that_is_installed_is_pinned() -> None:
    needed: set[str] = set()
    installed_for("dsrs", {"demo", "test"}, needed)
    assert {"numpy", "scipy", "numba", "llvmlite", "pytest", "pluggy"} <= needed
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert not needed - set(pinned(here)), "not in constraints.txt"


def test_the_tests_run_with_the_pinned_versions() -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    other = {}
    for name, wanted in pinned(here).items():
        try:
            found = version(name).partition("+")[0]
        except PackageNotFoundError:
            continue
        if found != wanted and name not in ("setuptools", "pip"):
            other[name] = (wanted, found)
    assert not other


@pytest.mark.parametrize("python", PYTHONS)
def test_each_python_has_one_version_of_each_package(python: str) -> None:
    holding = [
        canonicalize_name(pin.name)
        for pin in PINS
        if pin.marker is None or pin.marker.evaluate({"python_version": python})
    ]
    assert len(holding) == len(set(holding)) > 45
    assert all(str(pin.specifier).startswith("==") for pin in PINS)
    assert pinned(python)["torch"] == "2.13.0"


def test_the_pythons_are_named_alike_everywhere() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert tuple(re.findall(r"Python :: (3\.\d+)\"", project)) == PYTHONS
    assert f'requires-python = ">={PYTHONS[0]}"' in project
    assert f"Python {PYTHONS[0]} to {PYTHONS[-1]}" in (ROOT / "README.md").read_text()
    assert f"{PYTHONS[0]} {PYTHONS[-1]}" in (ROOT / "Makefile").read_text()
