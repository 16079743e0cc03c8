"""The OpenDP backend: its own laws, its own maps, never less noise than stated."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from absentia.errors import HazardRefused, InputError
from absentia.noise.opendp_draw import OpenDPNoise
from absentia.theory.noise import BlackBox, Gaussian, Laplace


@pytest.mark.parametrize("noise", [Laplace(2.0), Gaussian(2.0)])
def test_draws_have_the_stated_scale_and_sit_on_the_grid(noise: Laplace | Gaussian) -> None:
    k = OpenDPNoise(noise, 2.0**-16).draw(np.full((200, 100), 12), unit=0.25)
    assert k.shape == (200, 100)
    assert k.dtype == np.int64
    x = k * 2.0**-16 - 3.0
    expected = 2 * noise.size**2 if isinstance(noise, Laplace) else noise.size**2
    assert abs((x**2).mean() / expected - 1) < 6.2 * math.sqrt((5 if isinstance(noise, Laplace) else 2) / x.size)


def test_loss_is_opendps_map_with_the_rounding_of_every_entry() -> None:
    laplace = OpenDPNoise(Laplace(1.0), 2.0**-10)
    assert laplace.loss("1", 1) == pytest.approx(1 + 2**-10, rel=1e-12)
    assert laplace.loss("1", 1) >= 1 + 2**-10
    assert laplace.loss("1", 100) >= 1 + 100 * 2**-10
    gaussian = OpenDPNoise(Gaussian(1.0), 2.0**-10)
    assert gaussian.loss("1", 4) == pytest.approx((1 + 2 * 2**-10) ** 2 / 2, rel=1e-12)


def test_black_box_never_claims_less_than_the_continuous_law() -> None:
    for noise in (Laplace(1.0), Gaussian(1.0)):
        box = OpenDPNoise(noise, 2.0**-20).black_box("1", 10)
        assert isinstance(box, BlackBox)
        if isinstance(noise, Laplace):
            assert box.epsilon is not None
            assert box.epsilon >= 1
        else:
            assert box.profile is not None
            for epsilon in (0.5, 1.0, 3.0):
                assert box.profile(epsilon) >= noise.hockey_stick(1, math.exp(epsilon))


def test_a_black_box_has_no_opendp_noise() -> None:
    with pytest.raises(InputError, match="noise"):
        OpenDPNoise(BlackBox(epsilon="1"), 0.5)  # type: ignore[arg-type]


def test_missing_backend_is_refused_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(HazardRefused, match="opendp"):
        OpenDPNoise(Laplace(1.0), 0.5).draw([1])
