"""The prompt cache serves exact prefixes, for as long as they live."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.lab.cache import PromptCache, Split


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def text(value: str, ttl: str | None = None) -> dict[str, Any]:
    control = {"type": "ephemeral", "ttl": ttl} if ttl == "1h" else {"type": "ephemeral"}
    return {"type": "text", "text": value, **({"cache_control": control} if ttl else {})}


def body(system: list[dict[str, Any]], *messages: dict[str, Any], model: str = "claude-a") -> dict[str, Any]:
    return {"model": model, "system": system, "messages": [{"role": "user", "content": [m]} for m in messages]}


# Each text of 96 characters is 24 tokens and 4 for its block.
RULES, FIRST, SECOND = "r" * 96, "f" * 96, "s" * 96


def test_a_marked_prefix_is_written_once_and_read_afterwards() -> None:
    cache = PromptCache(Clock(), 0)
    assert cache.serve(body([text(RULES, "1h")], text(FIRST, "5m"))) == Split(0, 0, 28, 28)
    assert cache.serve(body([text(RULES, "1h")], text(FIRST), text(SECOND, "5m"))) == Split(0, 56, 28, 0)


def test_any_change_before_a_mark_loses_what_follows() -> None:
    cache = PromptCache(Clock(), 0)
    cache.serve(body([text(RULES, "1h")], text(FIRST, "5m")))
    assert cache.serve(body([text(RULES, "1h")], text(SECOND, "5m"))) == Split(0, 28, 28, 0)
    assert cache.serve(body([text(RULES + "!", "1h")], text(FIRST, "5m"))).read == 0
    assert cache.serve(body([text(RULES, "1h")], text(FIRST, "5m"), model="claude-b")).read == 0


def test_entries_expire_by_their_own_lifetime_and_reading_renews_them() -> None:
    clock = Clock()
    cache = PromptCache(clock, 0)
    marked = body([text(RULES, "1h")], text(FIRST, "5m"))
    cache.serve(marked)
    clock.now += 299
    assert cache.serve(marked).read == 56
    clock.now += 299
    assert cache.serve(marked).read == 56
    clock.now += 301
    assert cache.serve(marked) == Split(0, 28, 28, 0)
    clock.now += 3_601
    assert cache.serve(marked).read == 0


def test_a_prefix_below_the_minimum_is_not_cached() -> None:
    cache = PromptCache(Clock(), 57)
    assert cache.serve(body([text(RULES, "1h")], text(FIRST, "5m"))) == Split(56, 0, 0, 0)


def test_an_entry_beyond_the_twentieth_position_before_a_mark_is_not_found() -> None:
    cache = PromptCache(Clock(), 0)
    cache.serve(body([], text(FIRST, "5m")))
    near = [text(str(i)) for i in range(18)]
    assert cache.measure(body([], text(FIRST), *near, text(SECOND, "5m"))).read == 28
    assert cache.measure(body([], text(FIRST), *near, text("one more"), text(SECOND, "5m"))).read == 0


def test_measuring_changes_nothing() -> None:
    cache = PromptCache(Clock(), 0)
    marked = body([text(RULES, "1h")])
    assert cache.measure(marked) == cache.measure(marked) == cache.serve(marked)


@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, "5m"])), min_size=1), max_size=6))
def test_the_parts_of_a_prompt_always_add_up(requests: list[list[tuple[str, str | None]]]) -> None:
    cache, unused = PromptCache(Clock(), 0), PromptCache(Clock(), 0)
    for request in requests:
        prompt = body([], *(text(value, ttl) for value, ttl in request))
        assert cache.serve(prompt).total == unused.measure(prompt).total
