"""What is learned of how a provider counts."""

from __future__ import annotations

import random

import pytest

from geode_tui.context.calibration import Calibration, Kinship
from geode_tui.context.loads import Load, load


def growth(dice: random.Random) -> Load:
    """What one round adds."""
    return load(
        text=dice.randint(0, 200), arguments=dice.randint(10, 900), results=dice.randint(0, 6_000), messages=1, calls=1,
        fields=2, returns=1,
    )  # fmt: skip


def counted(of: Load, ratio: float, frame: float) -> float:
    """A provider that counts ``ratio`` times as many tokens, and ``frame`` for each call and result."""
    return ratio * sum(of[:4]) + frame * sum(of[4:9])


@pytest.mark.parametrize(("ratio", "frame"), [(1.0, 10.0), (1.1, 20.0), (1.35, 30.0)])
def test_a_ratio_is_learned_from_what_the_provider_counts(ratio: float, frame: float) -> None:
    dice = random.Random(7)
    calibration = Calibration("borrowed")
    for _ in range(40):
        step = growth(dice)
        calibration.learn(step, counted(step, ratio, frame), 20)
    fresh = [growth(dice) for _ in range(20)]
    right = sum(counted(step, ratio, frame) for step in fresh)
    assert abs(sum(calibration.tokens(step) for step in fresh) - right) < 0.01 * right
    assert calibration.confirmed == 40


def test_one_odd_figure_does_not_carry_it_away() -> None:
    dice = random.Random(7)
    calibration = Calibration("borrowed")
    for _ in range(20):
        step = growth(dice)
        calibration.learn(step, counted(step, 1.2, 20), 20)
    before = calibration.tokens(load(results=10_000))
    calibration.learn(load(results=100, returns=1), 150_000, 20)
    assert abs(calibration.tokens(load(results=10_000)) - before) < 0.02 * before


@pytest.mark.parametrize("kinship", ["own", "borrowed", "script"])
def test_nothing_it_is_told_makes_a_figure_absurd(kinship: Kinship) -> None:
    calibration = Calibration(kinship)
    expected = calibration.tokens(load(text=1_000, results=1_000, calls=3, returns=3))
    for tokens in (0, 10**9, -(10**9), 1) * 50:
        calibration.learn(load(text=1_000, calls=1), tokens, 20)
        calibration.learn(load(results=1_000, returns=1), tokens, 20)
    assert 0.3 * expected < calibration.tokens(load(text=1_000, results=1_000, calls=3, returns=3)) < 3 * expected


def test_a_models_own_vocabulary_is_believed_from_the_start() -> None:
    calibration = Calibration("own")
    calibration.learn(load(results=1_000, returns=1), 1_400, 70)
    assert calibration.tokens(load(text=10_000)) == pytest.approx(10_000, rel=0.02)


def test_sealed_content_and_images_are_tokens_as_they_are() -> None:
    calibration = Calibration("borrowed")
    assert calibration.tokens(load(sealed=500, pixels=70, tiles=900)) == 570
    assert calibration.tokens(load(sealed=500, pixels=70, tiles=900), tiles=True) == 1_400
    assert calibration.ratio_tokens(load(sealed=500, pixels=70)) == 0


def test_a_copy_learns_on_its_own() -> None:
    calibration = Calibration("borrowed")
    other = calibration.copy()
    for _ in range(10):
        other.learn(load(results=5_000), 7_500, 20)
    assert calibration.tokens(load(results=1_000)) == 1_200
    assert other.tokens(load(results=1_000)) > 1_400
