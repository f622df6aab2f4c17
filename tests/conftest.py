"""Puts tests/ on the import path, so that a test can write `from oracle.textbook import ...`.

Thousands of certificates: the tests run on compiled kernels, unless DSRS_KERNELS says otherwise.
Where several processes share the cores, each computes with one thread.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dsrs.cli import schema_of

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("DSRS_KERNELS", "compiled")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def output_follows_its_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test prints with --json is held against the schema of its command."""
    monkeypatch.setattr("dsrs.cli.output.checked", validated)


@cache
def validator(shape: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema_of(shape))


def validated(shape: str, document: Any) -> Any:
    validator(shape).validate(json.loads(json.dumps(document)))
    return document
