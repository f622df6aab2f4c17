"""The nodes of a search: which search fits, and that they hold the mass of P."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.duality import ALONE, GENERAL, SPLIT, base_of, kind_of, lay_nodes
from dsrs.laws import GeneralizedGaussian, Rescaled, Truncated
from duality.search_cases import MNIST, SMALL, WEIGHTED, problem
from laws.annulus import Annulus


def test_the_laws_say_which_search_fits() -> None:
    base = base_of(MNIST)
    ball, wide = (Truncated(MNIST, 0.6), 0.9, 1.0), (Rescaled(MNIST, 1.2), 0.9, 1.0)
    assert kind_of(base, problem(MNIST, (0.9, 1.0)).parts) == ALONE
    assert kind_of(base, problem(MNIST, (0.9, 1.0), ball).parts) == SPLIT
    for seen in (
        [wide],
        [ball, wide],
        [(WEIGHTED, 0.9, 1.0)],
        [(Annulus(MNIST, 0.2, 0.9), 0.9, 1)],
    ):
        assert kind_of(base, problem(MNIST, (0.9, 1.0), *seen).parts) == GENERAL
    # In few dimensions, where V runs to minus infinity, fixed nodes are not enough.
    pole = GeneralizedGaussian(2, 1.0, 0.0, 8.0)
    assert kind_of(base_of(pole), problem(pole, (0.9, 1.0)).parts) == GENERAL


@pytest.mark.parametrize("law", [MNIST, SMALL, GeneralizedGaussian(3, 1.0, 1.0)], ids=str)
@pytest.mark.parametrize("share", [0.05, 0.6, 0.999])
def test_nodes_hold_the_mass_of_p_inside_and_outside(
    law: GeneralizedGaussian, share: float
) -> None:
    nodes = lay_nodes(problem(law, (0.9, 1.0), (Truncated(law, share), 0.9, 1.0)))
    # SEARCH_SHARE leaves out about 1e-13, and 1e-9 above a shape of 1/2.
    room = 1e-11 if law.m > 1 else 2e-9
    assert nodes.mass.sum() == pytest.approx(1, abs=room)
    assert nodes.inside == pytest.approx(share, rel=1e-13)
    assert nodes.mass[: nodes.split].sum() == pytest.approx(share, abs=room)
    assert (np.diff(nodes.u) > 0).all()
    mean = nodes.mass @ nodes.t
    assert mean == pytest.approx(law.m, rel=100 * room)


def test_the_whole_reaches_further_than_the_search() -> None:
    nodes = lay_nodes(problem(MNIST, (0.9, 1.0), (Rescaled(MNIST, 1.2), 0.9, 1.0)))
    assert nodes.whole.low[0] < nodes.pieces.low[0]
    assert nodes.whole.high[-1] > nodes.pieces.high[-1]
    assert len(nodes.u) == 0, "the general search lays its nodes anew each time"
