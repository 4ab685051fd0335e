"""How a route's provider counts, learned from its own figures: tokens for each thing that `loads` counts.

A small recursive least-squares filter: it starts from what is known of the vocabulary, weighs each confirmed figure by
how much that figure can say, and never follows a single odd one far (a note that the client added and nobody recorded
looks like a sudden change of ratio). It costs a few hundred multiplications a confirmed figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import Literal, TypeAlias

from geode_tui.context.loads import FEATURES, Load

Kinship: TypeAlias = Literal["own", "borrowed", "script"]
"""How the counter's vocabulary stands to the model's: its own, another's, or none at all."""

_LEARNED = FEATURES.index("sealed")
"""The features before this one are learned, the others are tokens as they are."""
_PRIORS: dict[Kinship, tuple[tuple[float, float], ...]] = {
    "own": ((1.0, 0.02),) * 4 + ((4, 2), (4, 2), (10, 4), (3, 2), (6, 3)),
    "borrowed": ((1.2, 0.15), (1.3, 0.3), (1.2, 0.15), (1.2, 0.12), (8, 5), (15, 8), (20, 6), (12, 5), (35, 12)),
    "script": ((1.2, 0.25), (1.3, 0.35), (1.3, 0.25), (1.3, 0.25), (8, 5), (15, 8), (20, 6), (12, 5), (35, 12)),
}  # fmt: skip
"""(expected, deviation) of tokens for one of each learned feature, before anything is confirmed. Borrowed: today's
vocabularies differ by a fifth on prose and code, and models without a published one write calls and results in frames
of tens of tokens."""
_BOUNDS = 0.4, 2.5
"""A learned figure stays between these multiples of what was expected."""
_TRUST = 2.5
"""Standard deviations beyond which a figure counts as odd."""


class Calibration:
    """See the module."""

    def __init__(self, kinship: Kinship) -> None:
        self.kinship = kinship
        self.confirmed = 0
        """Figures that were learned from."""
        self._prior = tuple(mean for mean, _ in _PRIORS[kinship])
        self._weights = list(self._prior)
        self._spread = [
            [deviation**2 if row == column else 0.0 for column in range(_LEARNED)]
            for row, (_, deviation) in enumerate(_PRIORS[kinship])
        ]

    @property
    def text_ratio(self) -> float:
        """Tokens for one of the counter's tokens of plain text."""
        return self._weights[0]

    def tokens(self, load: Load, *, tiles: bool = False) -> float:
        """Tokens of ``load``; ``tiles`` where the provider counts images by tiles instead of by pixels."""
        sealed, pixels, by_tiles = load[_LEARNED:]
        return self.ratio_tokens(load) + sealed + (by_tiles if tiles else pixels)

    def ratio_tokens(self, load: Load) -> float:
        """Tokens of ``load`` without sealed content and images."""
        return _product(self._weights, load)

    def learn(self, load: Load, tokens: float, deviation: float) -> None:
        """The provider counted ``tokens`` for ``load``, give or take ``deviation`` that ``load`` does not tell.

        ``tokens`` must be without sealed content and images: their figures are no ratios.
        """
        seen = [(feature, count) for feature, count in enumerate(load[:_LEARNED]) if count]
        gain = [0.0] * _LEARNED
        for feature, count in seen:
            gain = [g + spread * count for g, spread in zip(gain, self._spread[feature], strict=True)]
        variance = sum([gain[feature] * count for feature, count in seen]) + deviation**2
        error = tokens - self.ratio_tokens(load)
        trust = min(1.0, _TRUST * math.sqrt(variance) / abs(error)) if error else 1.0
        low, high = _BOUNDS
        self._weights = [
            min(high * prior, max(low * prior, weight + trust * error * g / variance))
            for weight, prior, g in zip(self._weights, self._prior, gain, strict=True)
        ]
        for row, g in zip(self._spread, gain, strict=True):
            if g:
                known = trust * g / variance
                row[:] = [spread - known * h for spread, h in zip(row, gain, strict=True)]
        self.confirmed += 1

    def copy(self) -> Calibration:
        """A calibration that learns on from here on its own."""
        made = Calibration(self.kinship)
        made.confirmed = self.confirmed
        made._weights = list(self._weights)
        made._spread = [list(row) for row in self._spread]
        return made


def _product(weights: Sequence[float], load: Sequence[float]) -> float:
    """The sum of each weight times its feature; what has no weight is left out."""
    total: float = sum(map(mul, weights, load))
    return total
