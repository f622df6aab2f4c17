"""The example of a service is started, asked and answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import dsrs

SERVICE = Path(__file__).parents[2] / "examples" / "service.py"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pytest.importorskip("onnxruntime", reason="needs the extra `demo`")
    with subprocess.Popen(
        [sys.executable, SERVICE, "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        yield f"http://127.0.0.1:{service.stdout.readline().split()[-1]}/"
        service.terminate()


def asked(address: str, content: Any) -> dict[str, Any]:
    with urlopen(address, json.dumps(content).encode(), timeout=60) as reply:
        answer: dict[str, Any] = json.load(reply)
        return answer


def test_a_class_with_its_radius_and_votes(address: str) -> None:
    demo = dsrs.load_demo()
    image = (demo.images[2] / 255).tolist()
    answer = asked(address + "?radius=0.5", image)
    assert answer["class"] == demo.labels[2]
    assert answer["radius"] >= 0.5
    assert 64 <= answer["votes"] < 1000
    far = asked(address + "?radius=9", image)
    assert far == {"class": None, "radius": 0.0, "votes": far["votes"]}


def test_a_wrong_input_gets_a_sentence(address: str) -> None:
    with pytest.raises(HTTPError) as failed:
        asked(address, [[0.5, 0.5]])
    with failed.value as reply:
        assert reply.code == 400
        assert "must have the classifier's shape (1, 28, 28)" in json.load(reply)["error"]
