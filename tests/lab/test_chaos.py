"""Trouble by chance is the same for the same seed, never completes an answer and leaves the script alone."""

from __future__ import annotations

from collections import Counter

import httpx2
from hypothesis import given
from hypothesis import strategies as st

from tests.lab import Chaos, Lab, Say
from tests.lab.chaos import Storm
from tests.lab.scripts import Answer, Drip, Stall

HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
BODY = {
    "model": "claude-sonnet-5",
    "max_tokens": 100,
    "stream": True,
    "messages": [{"role": "user", "content": "hi"}],
}


def drawn(seed: int, rate: float, count: int = 200) -> list[str]:
    storm = Storm(Chaos(seed, rate))
    return [repr(storm.next()) for _ in range(count)]


@given(st.integers(), st.floats(0, 1))
def test_the_same_seed_brings_the_same_trouble(seed: int, rate: float) -> None:
    assert drawn(seed, rate) == drawn(seed, rate)


@given(st.integers())
def test_a_higher_rate_adds_trouble_and_changes_none(seed: int) -> None:
    rare, often = drawn(seed, 0.1), drawn(seed, 0.5)
    assert all(few in ("None", more) for few, more in zip(rare, often, strict=True))


def test_every_kind_comes_and_none_is_an_answer() -> None:
    storm = Storm(Chaos(7, 1.0))
    kinds = Counter(type(storm.next()).__name__ for _ in range(2_000))
    assert set(kinds) == {"Fail", "HangUp", "Cut", "Malformed", "StreamError"}
    assert not {Answer.__name__, Drip.__name__, Stall.__name__} & set(kinds)
    hidden = Storm(Chaos(7, 1.0, visible=False))
    assert all(not getattr(hidden.next(), "parts", ()) for _ in range(500))


async def answers() -> list[str]:
    """What a client gets that asks until the script is told: bodies, statuses, and ``broken`` for connections."""
    got = []
    async with (
        Lab(script=[Say("one"), Say("two")], chaos=Chaos(3, 0.5, 0.01)) as lab,
        httpx2.AsyncClient(verify=False, headers=HEADERS) as client,
    ):
        while lab.remaining:
            try:
                answer = await client.post(f"{lab.base_url}/v1/messages", json=BODY)
            except httpx2.TransportError:
                got.append("broken")
            else:
                got.append(answer.text if answer.status_code == 200 else str(answer.status_code))
    return got


async def test_the_script_goes_on_where_the_trouble_ends() -> None:
    first = await answers()
    assert [word for text in first for word in ("one", "two") if f'"{word}"' in text] == ["one", "two"]
    assert len(first) > 2
    assert first == await answers()
