"""Bounds of a few votes are computed interpreted, of many compiled: the same bits."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from dsrs.confidence import clopper_pearson

# The name in the package is the function's.
module = importlib.import_module("dsrs.confidence.clopper_pearson")


def test_both_ways_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(7)
    trials = (10 ** random.uniform(0, 6, 300)).astype(int) + 1
    successes = random.binomial(trials, random.random(300))
    successes[::7], successes[::11] = trials[::7], 0
    alpha = 10 ** random.uniform(-12, -0.05, 300)
    found = []
    for limit in (np.inf, 0.0):
        monkeypatch.setattr(module, "TERMS_WORTH_COMPILING", limit)
        found.append(clopper_pearson(successes, trials, alpha))
    assert np.array_equal(found[0].lower, found[1].lower)
    assert np.array_equal(found[0].upper, found[1].upper)


def test_much_work_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_terms", 0.0)
    few, many = np.full(10, 500.0), np.full(10, 1e11)
    assert module._solver(few, few) is module._solve_rows
    assert module._solver(many, many) is module._compiled_solver()
    assert module._solver(few, few) is module._compiled_solver(), "once compiled, always"
