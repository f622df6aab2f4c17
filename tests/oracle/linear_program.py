"""A third route to C_delta: the primal problem on cells of (norm, angle), as a linear program.

Nothing is dual here: f is one number in [0, 1] per cell, and HiGHS minimises its mass under the
shifted law. With f constant on a cell the program can only be too large, by about the square of a
cell's width.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.special import gammainc, gammainccinv, gammaincinv, gammaln

Array = NDArray[np.float64]
SLACK = 1e-6  # so that the tails left out do not make a point of the boundary infeasible
SCALE = 1e5  # HiGHS reads entries below 1e-9 as zero, and a cell can be lighter


def primal_worst_case(
    d: float,
    k: float,
    sigma: float,
    r: float,
    p_interval: tuple[float, float],
    q_interval: tuple[float, float],
    q_shape: str,
    q_value: float,
    cells: int = 120,
) -> float:
    """min E_shifted f subject to E_P f and E_Q f in their intervals; `q_value` as in the textbook.

    For small d (up to about 30), good to 1e-3. Raises ValueError if no f fits.
    """
    m = d / 2 - k
    rho = r / (sigma * np.sqrt(d / (2 * m)))
    kappa2 = (sigma / q_value) ** 2 if q_shape == "rescaled" else 1.0
    tau = float(gammaincinv(m, q_value)) if q_shape == "truncated" else np.inf

    edges = _radial_edges(m, rho, kappa2, tau, cells)
    angles = np.linspace(0, np.pi, cells + 1)
    arc = _panel_masses(angles, lambda x: np.exp((d - 2) * np.log(np.sin(x))))
    p_shell = np.diff(gammainc(m, edges))
    q_shell = np.diff(gammainc(m, kappa2 * edges)) * (edges[:-1] + edges[1:] < 2 * tau)

    under_p = np.outer(p_shell / p_shell.sum(), arc / arc.sum())
    under_q = np.outer(q_shell / q_shell.sum(), arc / arc.sum())
    shifted = _shifted_masses(d, k, m, rho, edges, angles)
    # Cells that nobody visits only upset the solver's scaling.
    seen = np.maximum(np.maximum(under_p, under_q), shifted) > 1e-9
    p_row, q_row = under_p[seen] / under_p[seen].sum(), under_q[seen] / under_q[seen].sum()
    limits = np.array([p_interval[1], -p_interval[0], q_interval[1], -q_interval[0]]) + SLACK
    answer = linprog(
        shifted[seen], A_ub=SCALE * np.stack([p_row, -p_row, q_row, -q_row]), b_ub=SCALE * limits,
        bounds=(0, 1), method="highs",
    )  # fmt: skip
    if answer.status == 2:
        raise ValueError(f"no classifier has P in {p_interval} and Q in {q_interval}")
    if answer.status != 0 or answer.fun is None:
        raise RuntimeError(answer.message)
    return float(answer.fun)


def _radial_edges(m: float, rho: float, kappa2: float, tau: float, cells: int) -> Array:
    """Edges in t: even in the norm where P, Q and the shifted law live, with an edge at tau."""
    tail = 1e-10
    outer = np.sqrt(gammainccinv(m, tail)) + rho / np.sqrt(2)
    outer = max(outer, np.sqrt(gammainccinv(m, tail) / kappa2))
    inner = np.sqrt(gammaincinv(m, tail) / max(kappa2, 1.0)) - rho / np.sqrt(2)
    norms = np.linspace(max(inner, 0.0), outer, cells + 1)
    norms[0] = 0.0
    norms = np.unique(np.append(norms, np.sqrt(tau))) if np.isfinite(tau) else norms
    return np.asarray(norms**2)


def _panel_masses(edges: Array, density: Callable[[Array], Array]) -> Array:
    """Integrals of a density between neighbouring edges, 8 Gauss points each."""
    x, w = _gauss_points(edges)
    return np.asarray((density(x) * w).sum(axis=1))


def _gauss_points(edges: Array) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2
    return edges[:-1, None] + half * (nodes + 1), half * weights


def _shifted_masses(d: float, k: float, m: float, rho: float, edges: Array, angles: Array) -> Array:
    """Mass of each cell under P shifted, whose density is that of the shell s the point came from.

    In x = sqrt(t): volume element x^(d-1) sin^(d-2), density s^-k e^-s; the masses sum to 1.
    """
    x, wx = _gauss_points(np.sqrt(edges))
    a, wa = _gauss_points(angles)
    s = x[:, :, None, None] ** 2 + rho**2 / 2
    s = s - rho * np.sqrt(2) * x[:, :, None, None] * np.cos(a)[None, None]
    # int x^(d-1) x^(-2k) e^(-x^2) dx = Gamma(m)/2 keeps the exponent near zero.
    log_mass = (d - 1) * np.log(x)[:, :, None, None] + (d - 2) * np.log(np.sin(a))[None, None]
    log_mass = log_mass - k * np.log(s) - s - gammaln(m)
    weight = wx[:, :, None, None] * wa[None, None]
    mass = (np.exp(log_mass) * weight).sum(axis=(1, 3))
    return np.asarray(mass / mass.sum())
