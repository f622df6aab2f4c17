"""Which shift is the worst one, with proof, and how far it moves the noise.

Setting. Let |.| be the l1, l2 or l-infinity norm, g(|x|) the density of the noise P, q_i(|x|) the
densities of the additional laws, all nonincreasing in the norm, and L = l_0 g + sum_i l_i q_i with
multipliers l >= 0. For a shift delta put

    V(delta) = integral (g(|x - delta|) - L(|x|))_+ dx.

Weak duality bounds the probability of a wrong answer at x0 + delta by
l_0 (1 - P_A) + sum_i l_i (1 - Q_i) + V(delta), so V has to be bounded over a whole ball of shifts.

Claim. Over the ball |delta| <= r of the same norm V is largest at r (1, 0, ..., 0) for l1, at
r (1, 1, ..., 1) for l-infinity, anywhere on the sphere for l2; and it does not decrease with r.
So one shift proves the radius for all shifts up to it.

Proof. Let e be a unit vector whose reflection x -> x - 2 <x, e> e keeps the norm. Then |x| sees
<x, e> only through its size, and, being convex, does not decrease with that size. V, too, stays
the same when delta is reflected. Take two shifts that differ only along e, delta_a and delta_b with
components 0 <= a < b, and reflect at the plane halfway between them: x with <x, e> > (a + b)/2
becomes x'. Such a pair has
    A := g(|x - delta_b|) = g(|x' - delta_a|)  >=  B := g(|x - delta_a|) = g(|x' - delta_b|),
because x is nearer to delta_b along e, and L := L(|x|) <= L' := L(|x'|), because x' is nearer to 0
along e. Together the two points contribute
    (A - L)_+ + (B - L')_+   at delta_b,      (B - L)_+ + (A - L')_+   at delta_a.
Both pairs of arguments have the same sum, and the first pair holds the largest and the smallest
of the four; y -> y_+ is convex, hence the first sum is at least the second. Over all pairs:
V(delta_b) >= V(delta_a). Now choose e:
- e a coordinate axis (every norm): V does not decrease with any |delta_i|. This settles
  l-infinity, and the growth with r.
- e = (e_i - e_j)/sqrt 2, whose reflection swaps two coordinates (every norm): while
  delta_i + delta_j stays, V does not decrease with |delta_i - delta_j|, so moving all of |delta|
  into one coordinate never lowers V. This settles l1.
- l2: V depends on |delta| only. QED

Along these shifts |x + delta| is a function of n = |x| and of one more number c, the overlap, so
a draw costs the same in every dimension:
- l1: |x + delta| = n + r - 2 min(n c, r), with c = |x_1| / n ~ Beta(1, d - 1) if x_1 < 0, else 0;
- l-infinity: the same formula; c = 0 if the coordinate of largest size is positive, otherwise the
  largest coordinate is n (1 - 2c), and again c ~ Beta(1, d - 1);
- l2: |x + delta|^2 = n^2 + r^2 - 2 n r c, with c the cosine between x and -delta.
l1 and l-infinity agree: measured in units of their s', both have the same radii.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsrs.other_norms.law import Floats, NormLaw


@dataclass(frozen=True, slots=True)
class ShellSample:
    """Independent noise vectors, each kept as its shell t and its overlap with the worst shift."""

    law: NormLaw
    t: Floats
    overlap: Floats

    @classmethod
    def draw(cls, law: NormLaw, count: int, generator: np.random.Generator) -> ShellSample:
        """`count` draws of P."""
        t = law.sample_shells(count, generator)
        if law.norm == "l2":
            half = (law.d - 1) / 2
            return cls(law, t, 2 * generator.beta(half, half, count) - 1)
        towards = generator.random(count) < 0.5
        return cls(law, t, np.where(towards, generator.beta(1, law.d - 1, count), 0.0))

    def shifted(self, radius: float) -> tuple[Floats, Floats]:
        """Shells s of x + delta, and ln g(|x + delta|) - ln g(|x|), at the worst shift."""
        ratio = radius / self.law.norms(self.t)
        if self.law.norm == "l2":
            square = ratio * (ratio - 2 * self.overlap)
            growth = square / (1 + np.sqrt(np.maximum(1 + square, 0.0)))
        else:
            growth = ratio - 2 * np.minimum(self.overlap, ratio)
        # growth = |x + delta| / |x| - 1; the log-density is -2k ln |x| - t as in docs/math.md 1.
        with np.errstate(divide="ignore"):
            log_growth = np.log1p(np.maximum(growth, -1.0))
            added = self.t * np.expm1(self.law.eta * log_growth)
            log_ratio = -2 * self.law.k * log_growth - added
        return np.maximum(self.t + added, 0.0), log_ratio
