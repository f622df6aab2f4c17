"""The smoothing law P in balls, from its definition (docs/math.md 1).

p(x) ~ |x|^(-2k) exp(-t) with t = (|x|/s)^eta, so t ~ Gamma(m, 1), m = (d - 2k)/eta. The unit of
length is scale = s/sqrt(2), with E|x|^2 = sigma^2 d. Shells are named by u = ln(t/m), whose density
is exp(c + m (u - expm1 u)). In units of `scale` half the square of a norm is h = t^(2/eta).

Noise may be round in another norm |x|: its shells are the same, and its s is another: sigma^2 is
the mean square of a coordinate for every norm, so sigma^2 = s^2 E[t^(2/eta)] E[c^2], c the first
coordinate of a direction (the unit sphere with the law of x/|x|), E[c^2] = 1/d for l2. For l1
|c| ~ Beta(1, d - 1), E[c^2] = 2/(d (d + 1)). For l-infinity c is +-1 with probability 1/d and else
uniform on [-1, 1], E[c^2] = (d + 2)/(3 d).
"""

from __future__ import annotations

import math

from dsrs.audit.balls import Ball, arb, centre, exact


class Shells:
    """The smoothing law P on its shells."""

    def __init__(self, d: int, sigma: float, k: float, eta: float, norm: str = "l2") -> None:
        self.d, self.norm, self.gaussian = d, norm, k == 0 and eta == 2 and norm == "l2"
        self.sigma, self.eta = exact(sigma), exact(eta)
        self.m = (d - 2 * exact(k)) / self.eta
        self.kappa = 2 * exact(k) / self.eta
        self.power = 2 / self.eta
        self.log_m = self.m.log()
        self.log_top = self.m * self.log_m - self.m - self.m.lgamma()
        growth = self.m.lgamma() - (self.m + self.power).lgamma()
        self.scale = self.sigma * (exact(d) / 2 * growth.exp()).sqrt()
        if eta == 2:
            self.scale = self.sigma * (exact(d) / (2 * self.m)).sqrt()
        # d E[c^2]; in l1 and l-infinity lengths are in units of s.
        spread = {"l2": arb(1), "l1": arb(2) / (d + 1), "linf": arb(d + 2) / 3}[norm]
        self.unit = self.scale * (2 / spread).sqrt()
        # For searches, which prove nothing.
        self.rough_m, self.rough_kappa = float(self.m), float(self.kappa)

    def gamma(self, u: Ball) -> Ball:
        """Return t = m e^u, the Gamma variable of shell u."""
        return u.exp() * self.m

    def half_square(self, u: Ball) -> Ball:
        """Return h = t^(2/eta), half the square of the norm in units of `scale`."""
        return ((u + self.log_m) * self.power).exp()

    def shell_of(self, half_square: arb) -> arb:
        """The shell u on which half the square of the norm is `half_square`."""
        return half_square.log() / self.power - self.log_m

    def length(self, u: Ball) -> Ball:
        """t^(1/eta), the norm in units of s."""
        return ((u + self.log_m) * self.power / 2).exp()

    def shell_of_length(self, length: arb) -> arb:
        """The shell u on which the norm is `length` times s."""
        return length.log() * 2 / self.power - self.log_m

    def log_density(self, u: Ball, t: Ball) -> Ball:
        """ln p(u), t = gamma(u): by Taylor's theorem about the centre c, with
        (m (u - expm1 u))'' = -t. Near the peak balls of u would cancel otherwise."""
        c = centre(u)
        away = u - c
        middle = self.log_top + self.m * (c - c.expm1())
        if isinstance(u, arb) and u.is_exact():
            return middle
        return away * (self.m - self.gamma(c)) - t * away * away / 2 + middle

    def tail(self, u: arb, *, above: bool, height: arb, exponent: arb, rate: arb) -> arb:
        """An upper bound of the mass beyond shell u of a term with the log-density
        height + exponent u - rate e^u: it is concave, and lies under its tangent at u."""
        log = height + exponent * u - rate * u.exp()
        slope = exponent - rate * u.exp()
        if above:
            slope = -slope
        return (log.exp() / slope).upper() if slope > 0 else arb.pos_inf()

    def mass_above(self, u: arb) -> arb:
        """An upper bound of P(shell > u)."""
        if not u.is_finite():
            return arb(1)
        one = arb(1)
        mass = self.tail(u, above=True, height=self._height(), exponent=self.m, rate=self.m)
        return mass.min(one)

    def mass_below(self, u: arb) -> arb:
        """An upper bound of P(shell < u), and of the same for shifted noise: shifting a ball away
        from the centre lowers its mass, because p falls with the norm."""
        mass = self.tail(u, above=False, height=self._height(), exponent=self.m, rate=self.m)
        return mass.min(arb(1))

    def mass_above_shifted(self, u: arb, rho: arb) -> arb:
        """An upper bound of the probability that noise shifted by rho lies beyond shell u."""
        inner = (2 * self.half_square(u)).sqrt() - rho
        return self.mass_above(self.shell_of(inner * inner / 2)) if inner > 0 else arb(1)

    def _height(self) -> arb:
        return self.log_top + self.m

    def rough_range(
        self, height: float, exponent: float, rate: float, depth: float
    ) -> tuple[float, float]:
        """About the interval of u where height + exponent u - rate e^u exceeds -depth, or one
        around its peak; it proves nothing. Without a positive exponent there is no lower end."""
        peak = math.log(exponent / rate) if exponent > 0 else -math.inf

        def log(u: float) -> float:
            return height + exponent * u - rate * math.exp(u)

        wide = 0.5 / math.sqrt(max(exponent, 0.1))
        low, step = peak - wide, wide
        while math.isfinite(low) and log(low) > -depth:
            low, step = low - step, 1.1 * step
        high, step = (peak if exponent > 0 else -50.0) + wide, wide
        while log(high) > -depth:
            high, step = high + step, 1.1 * step
        return low, high
