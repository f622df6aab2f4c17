"""A class that leads without a majority: only another class ahead ends what is claimed of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dsrs.attack import AttackSettings, attack_input
from dsrs.classifiers import Classifier
from dsrs.laws import GeneralizedGaussian
from dsrs.proofs import Interval, certificate_of, certify, find_lead

SIGMA = 0.5


class Slabs(Classifier):
    """Class 0 below 0.05, class 1 above 0.1 along the first value, class 2 between.

    At the origin the shares are 0.54, 0.42 and 0.04; P_0 is 1/2 at a shift of 0.05, P_0 = P_1 at
    one of 0.075.
    """

    num_classes, bounds = 3, (0.0, 1.0)
    fingerprint = description = "slabs"
    input_shape = (5,)

    def classify(self, batch: NDArray[np.float32]) -> NDArray[np.int64]:
        first = batch[:, 0]
        return np.where(first < 0.05, 0, np.where(first > 0.1, 1, 2)).astype(np.int64)


def test_a_lost_majority_does_not_end_a_lead() -> None:
    law, zero = GeneralizedGaussian(5, SIGMA), np.zeros(5, np.float32)
    share = float(special.ndtr(0.05 / SIGMA))
    rival = float(special.ndtr(-0.1 / SIGMA))
    settings = AttackSettings(budget=400_000)
    led = certificate_of(law, find_lead(law, share, rival))
    lead = attack_input(Slabs(), zero, 0, led, settings)
    majority = attack_input(Slabs(), zero, 0, certify(law, Interval(share, 1.0)), settings)
    assert (lead.claim, majority.claim) == ("lead", "majority")
    assert lead.attacked is not None
    assert majority.attacked is not None
    # The majority ends first, and there nobody is ahead yet.
    assert 0.05 < majority.attacked < 0.075 < lead.attacked < 0.1
    assert majority.counterexample is not None
    assert majority.counterexample.shown == "majority lost"
    assert lead.counterexample is not None
    assert lead.counterexample.shown == "answer changed"
    assert lead.certified < 0.075
    assert not lead.refuted
