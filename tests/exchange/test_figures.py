"""Numbers as they are written for people."""

import pytest

from exchange.figures import write_decimal, write_percent
from exchange.sentences import told


@pytest.mark.parametrize(
    ("share", "written"), [(0, "0 %"), (0.384, "38 %"), (1, "100 %"), (-0.21, "−21 %"), (-0.001, "0 %")]
)
def test_a_share_is_whole_percents_and_a_zero_has_no_sign(share, written):
    assert write_percent(share) == written


@pytest.mark.parametrize(("value", "written"), [(0.125, "0.12"), (-0.5, "−0.50"), (-0.004, "0.00")])
def test_a_coefficient_has_two_decimals(value, written):
    assert write_decimal(value) == written


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [(0.3, 0.46, "38 % [30 %, 46 %]"), (0.38, 0.387, "38.4 % [38.0 %, 38.7 %]"), (None, None, "38 %")],
)
def test_a_percent_is_as_fine_as_its_interval(low, high, written):
    assert told({"value": 0.384, "low": low, "high": high}, percent=True) == written


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [
        (0.36, 0.38, "0.37 [0.36, 0.38]"),
        (0.368, 0.374, "0.370 [0.368, 0.374]"),
        (0.37, 0.37, "0.37 [0.37, 0.37]"),
        (None, None, "0.37"),
    ],
)
def test_a_coefficient_is_as_fine_as_its_interval(low, high, written):
    assert told({"value": 0.37, "low": low, "high": high}) == written


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [
        (-0.6, 0.0, "−0.30 [−0.60, 0.00]"),
        (-0.6, -0.002, "−0.300 [−0.600, −0.002]"),
        (-0.6, -0.0003, "−0.3000 [−0.6000, −0.0003]"),
        (-0.6, -1e-17, "−0.30 [−0.60, 0.00]"),
    ],
)
def test_an_interval_beside_zero_does_not_read_as_if_it_held_it(low, high, written):
    assert told({"value": -0.3, "low": low, "high": high}) == written
