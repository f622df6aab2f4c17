"""Recorded intervals through our solver."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from dsrs.duality.kernel import prepare
from dsrs.errors import InfeasibleBox
from dsrs.laws import additional_law
from dsrs.paper.recorded import Floats, RecordedRun
from dsrs.proofs.certificate import Certificate
from dsrs.proofs.certification import certify
from dsrs.proofs.interval import Interval, Observation


def recertified_radii(run: RecordedRun, advance: Callable[[], None] = lambda: None) -> Floats:
    """The radius of every input of `run`; 0 where nothing can be proved.

    `advance` is called after each input.
    """
    prepare(len(run))
    radii = np.empty(len(run))
    # Threads: the solver works outside the interpreter's lock.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for row, found in enumerate(pool.map(partial(recertify, run), range(len(run)))):
            radii[row] = found.radius
            advance()
    return radii


def recertify(run: RecordedRun, row: int) -> Certificate:
    """The certificate of one recorded input.

    A row whose P was sampled anew after Q (its log was overwritten) may hold intervals that no
    classifier has; then Q belongs to another run, and P alone is used.
    """
    law = run.name.law
    p = Interval(float(run.p_lower[row]), float(run.p_upper[row]))
    if run.q_value is None or run.q_lower is None or run.q_upper is None:
        return certify(law, p)
    if np.isnan(run.q_value[row]):
        return certify(law, p)
    additional = additional_law(run.name.q_shape or "", float(run.q_value[row]), law)
    q = Interval(float(run.q_lower[row]), float(run.q_upper[row]))
    try:
        return certify(law, p, Observation(additional, q))
    except InfeasibleBox:
        return certify(law, p)
