"""How the tiers become one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from geode_tui.memory.merging import ORGANIZATION, PROJECT, RESERVED, SESSION, TIERS, Decision, Tier, merge

VALUES = st.sampled_from(["", "a", "b", 0, 1, None, False, (), ("x",)])
GIVEN = st.lists(st.dictionaries(st.sampled_from("klmn"), VALUES), min_size=5, max_size=5)


def test_later_tiers_win_but_the_project_only_with_what_it_has() -> None:
    merged = merge(
        [
            (ORGANIZATION, {"goal": "grow", "tone": "dry", "team": "red"}),
            (PROJECT, {"goal": "ship", "tone": "", "extra": []}),
            (SESSION, {"team": "", "extra": None}),
        ]
    )
    assert merged.values == {"goal": "ship", "tone": "dry", "team": "", "extra": None}
    assert merged.decisions["organization"] == (
        Decision("goal", "replaced", "project"),
        Decision("tone", "used"),
        Decision("team", "replaced", "session"),
    )
    assert merged.decisions["project"] == (
        Decision("goal", "used", "organization"),
        Decision("tone", "empty", "organization"),
        Decision("extra", "empty", "session"),
    )
    assert merged.decisions["session"] == (Decision("team", "used", "organization"), Decision("extra", "used"))


def test_no_tier_says_what_is_said_of_the_tiers() -> None:
    assert merge([(SESSION, dict.fromkeys(RESERVED, "mine"))]).values == {}


@given(GIVEN)
def test_each_key_is_held_by_the_last_tier_that_may_give_it(offers: list[dict[str, Any]]) -> None:
    given_by = list(zip(TIERS, offers, strict=True))
    merged = merge(given_by)
    for key in {key for offer in offers for key in offer}:
        able = [(tier, offer[key]) for tier, offer in given_by if key in offer and (offer[key] or not tier.sparing)]
        if not able:
            assert key not in merged.values
            continue
        winner, value = able[-1]
        assert merged.values[key] == value
        assert _state(merged.decisions, winner, key) == "used"
        assert [tier for tier in TIERS if _state(merged.decisions, tier, key) == "used"] == [winner]


@given(GIVEN)
def test_every_key_of_every_tier_is_accounted_for(offers: list[dict[str, Any]]) -> None:
    merged = merge(zip(TIERS, offers, strict=True))
    for tier, offer in zip(TIERS, offers, strict=True):
        assert [decision.key for decision in merged.decisions[tier.name]] == list(offer)


def _state(decisions: dict[str, tuple[Decision, ...]], tier: Tier, key: str) -> str:
    return next((decision.state for decision in decisions[tier.name] if decision.key == key), "")
