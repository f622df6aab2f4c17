"""Interpreted and compiled kernels are one source: the same certificates, to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import json
from dsrs import GeneralizedGaussian, Interval, Observation, Rescaled, Truncated, certify
from dsrs.laws import Weighted

found = []
for d, k, eta in ((784, 380, 2), (3072, 1530, 2), (10, 2, 1), (2, 0, 2), (100, 3, 4), (65, 32, 2)):
    law = GeneralizedGaussian(d, 0.5, k, eta)
    ball = Observation(Truncated(law, 0.6), Interval(0.97, 0.98))
    narrow = Observation(Rescaled(law, 0.4), Interval(0.965, 0.97))
    less = Observation(Rescaled(law, 0.45), Interval(0.92, 0.93))
    knots = (0.5 * law.m, law.m, 2 * law.m)
    weight = Observation(Weighted(law, knots, (0.0, 0.5, -1.0)), Interval(0.95, 0.97))
    boxes = ((), (ball,), (narrow,), (less,), (weight,), (ball, narrow))
    for seen in boxes if d != 65 else boxes[:2]:
        try:
            found.append(certify(law, Interval(0.93, 0.95), *seen).to_json())
        except ValueError as error:
            found.append(str(error))
print(json.dumps(found))
"""


def certificates(kernels: str) -> Any:
    environment = os.environ | {"DSRS_KERNELS": kernels}
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True
    )
    return json.loads(answer.stdout)


@pytest.mark.slow
def test_both_ways_give_the_same_certificates() -> None:
    interpreted, compiled = certificates("interpreted"), certificates("compiled")
    assert sum("radius" in each for each in interpreted) > 25
    for one, other in zip(interpreted, compiled, strict=True):
        assert one == other
