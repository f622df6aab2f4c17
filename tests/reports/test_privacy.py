"""A report tells the names of files, and not where they lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dsrs.reports import without_places
from reports.test_report_command import command, store


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("/home/me/secret/net.onnx", "net.onnx"),
        ("/home/me/net.py:model", "net.py:model"),
        ("C:\\Users\\me\\net.onnx", "net.onnx"),
        ("~/net.onnx", "net.onnx"),
        ("runs/net.onnx", "runs/net.onnx"),
        ("sha256:ab", "sha256:ab"),
        ({"a": ["/x/y", 3, None]}, {"a": ["y", 3, None]}),
    ],
)
def test_absolute_paths_become_names(told: Any, shown: Any) -> None:
    assert without_places(told) == shown


def test_a_page_tells_where_the_data_lies_only_if_asked(tmp_path: Path, make_result: Any) -> None:
    run = store(tmp_path / "run", make_result, name="/home/me/secret/images.npz")
    page = tmp_path / "page.html"
    assert command(run, "--output", page) == 0
    text = page.read_text()
    assert "secret" not in text
    assert "<title>Certified robustness: images.npz</title>" in text
    assert command(run, "--output", page, "--paths") == 0
    assert "/home/me/secret/images.npz" in page.read_text()
