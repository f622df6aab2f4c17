"""The nearest perturbation beyond a plane, in all of R^d and within a box."""

from __future__ import annotations

import numpy as np
import pytest

from dsrs.attack import Room


def test_without_a_box_it_is_the_normal() -> None:
    normal = np.array([0.6, 0.8])
    assert np.allclose(Room(np.zeros(2, np.float32), None).beyond(normal, 3.0), [1.8, 2.4])


@pytest.mark.parametrize("seed", range(5))
def test_in_a_box_no_other_point_beyond_the_plane_is_nearer(seed: int) -> None:
    generator = np.random.default_rng(seed)
    x = generator.random(6).astype(np.float32)
    normal = generator.standard_normal(6)
    normal /= np.linalg.norm(normal)
    room = Room(x, (0.0, 1.0))
    furthest = float(normal @ np.where(normal > 0, 1 - x, -x))
    depth = 0.7 * furthest
    found = room.beyond(normal, depth)
    assert normal @ found == pytest.approx(depth)
    assert ((x + found > -1e-6) & (x + found < 1 + 1e-6)).all()
    others = generator.random((200_000, 6)) - x
    others = others[others @ normal >= depth]
    assert len(others) > 0
    assert np.linalg.norm(others, axis=1).min() >= np.linalg.norm(found)


def test_beyond_the_box_it_ends_in_a_corner() -> None:
    room = Room(np.full(2, 0.5, np.float32), (0.0, 1.0))
    assert np.allclose(room.beyond(np.array([0.6, 0.8]), 100.0), [0.5, 0.5])
