"""Events as one line: every one of the catalogue, unknown ones, damaged ones, hostile ones."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.events import CATALOGUE
from geode_tui.view.event_line import LINE, event_level, event_line


def test_every_event_of_the_catalogue_has_a_line_of_its_own() -> None:
    for name in CATALOGUE:
        assert event_line(name, '{"tool_name":"grep","kind":"submit"}') != '{"tool_name":"grep","kind":"submit"}', name


@pytest.mark.parametrize(
    ("event", "payload", "line"),
    [
        (
            "tool_exec_ended",
            '{"tool_name":"grep","duration_ms":200,"tokens":214,"summary":"3 hits"}',
            "grep 3 hits, 0.2 s, 214 tok",
        ),
        ("tool_exec_ended", '{"tool_name":"grep","executed":false,"tokens":9}', "grep ok, not run, 9 tok"),
        (
            "llm_call_ended",
            '{"usage":{"output_tokens":1900},"cost_micro":60000,"latency_ms":2000,"stop_reason":"end_turn"}',
            "1.9k out, $0.06, 2.0 s, end_turn",
        ),
        ("llm_call_end", '{"usage":{"output_tokens":5},"cost_micro":null}', "5 out, unpriced, 0.0 s"),
        (
            "cache_broken",
            '{"cause":"dynamic","tokens":41000,"cost_micro":90000,"said":"system_changed"}',
            "dynamic, 41.0k read again, $0.09, system_changed",
        ),
        ("cache_hit_low", '{"read_tokens":9000,"cacheable_tokens":61000}', "9.0k read of 61.0k cacheable"),
        ("cost_warning", '{"total_micro":4000000,"limit_micro":5000000}', "$4.00 of $5.00"),
        ("made_up_event", '{"a":1}', '{"a":1}'),
        ("tool_exec_ended", "not json", "not json"),
    ],
)
def test_lines(event: str, payload: str, line: str) -> None:
    assert event_line(event, payload) == line


@pytest.mark.parametrize(
    ("event", "payload", "level"),
    [
        ("llm_call_failed", "{}", "error"),
        ("llm_call_retry", "{}", "warning"),
        ("tool_exec_ended", '{"has_error":true}', "warning"),
        ("tool_exec_ended", '{"has_error":false}', "info"),
        ("turn_completed", '{"termination_reason":"natural"}', "info"),
        ("turn_completed", '{"termination_reason":"max_rounds"}', "warning"),
        ("command_finished", '{"outcome":"too_late"}', "warning"),
        ("message_opened", "garbage", "info"),
    ],
)
def test_levels(event: str, payload: str, level: str) -> None:
    assert event_level(event, payload) == level


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted({field for kind in CATALOGUE.values() for field in kind.__struct_fields__})


@given(st.sampled_from([*CATALOGUE, "other"]), st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=6))
def test_whatever_a_payload_holds_the_line_is_inert_and_short(event: str, fields: dict[str, object]) -> None:
    line = event_line(event, msgspec.json.encode(fields).decode())
    assert len(line) <= LINE
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F for c in line)
    assert event_level(event, msgspec.json.encode(fields).decode()) in {"info", "warning", "error"}
