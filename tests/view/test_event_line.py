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
        (
            "view_changed",
            (
                '{"version":4,"cause":"warning","operations":{"mask":12,"shrink":2},"tokens_before":92000,'
                '"tokens_after":61000,"unbound":3}'
            ),
            "version 4 (warning), mask 12, shrink 2, 92.0k -> 61.0k, 3 signed thoughts not sent",
        ),
        (
            "view_changed",
            '{"version":5,"cause":"undo","operations":{},"tokens_before":61000,"tokens_after":92000,"takes_back":[4]}',
            "version 5 (undo), takes back 4, 61.0k -> 92.0k",
        ),
        (
            "provider_compacted",
            '{"call_id":"c","seq":22,"tokens_before":52000,"tokens_after":6400}',
            "#22, 52.0k -> 6.4k",
        ),
        ("provider_compacted", '{"call_id":"c","seq":22,"tokens_before":52000,"tokens_after":0}', "#22, 52.0k before"),
        (
            "provider_cleared",
            '{"call_id":"c","tool_uses":12,"tokens":9000}',
            "12 results cleared by the provider, 9.0k tok",
        ),
        (
            "view_changed",
            (
                '{"version":6,"cause":"manual","operations":{"summarise":1},"tokens_before":61000,"tokens_after":9000,'
                '"lost":[{"kind":"path","text":"src/a.py","seq":4},{"kind":"rule","text":"Never.","seq":9}]}'
            ),
            "version 6 (manual), summarise 1, 61.0k -> 9.0k, 2 lost by the summary",
        ),
        (
            "maintenance_started",
            '{"trigger":"critical","hard":true,"context":{"used":160000,"budget":167000}}',
            "critical, 160.0k of 167.0k, the run waits for it",
        ),
        (
            "maintenance_ended",
            (
                '{"trigger":"manual","action":"compact","status":"changed","original_count":90,"new_count":8,'
                '"tokens_before":162000,"tokens_after":41000}'
            ),
            "manual: compact changed, 162.0k -> 41.0k, 90 -> 8 messages",
        ),
        (
            "maintenance_ended",
            '{"trigger":"warning","action":"none","status":"failed","detail":"no answer","paused":true}',
            "warning: none failed, no answer, paused",
        ),
        ("context_critical", '{"metrics":{"used":160000,"budget":167000}}', "160.0k of 167.0k"),
        (
            "context_overflow_action",
            '{"trigger":"ceiling","action":"prune","metrics":{"used":60000,"budget":167000}}',
            "ceiling: prune, 60.0k of 167.0k",
        ),
        (
            "window_observed",
            '{"limit":120000,"actual":131000,"estimated":99000}',
            "120.0k fit, 131.0k counted, 99.0k estimated",
        ),
        (
            "tool_result_offloaded",
            '{"tool_name":"grep","ref_id":"off_1","original_tokens":21000}',
            "grep off_1, 21.0k tok",
        ),
        (
            "tool_result_offloaded",
            '{"tool_name":"grep","ref_id":"off_1","original_tokens":2100000,"extrapolated":true}',
            "grep off_1, ~2.10M tok",
        ),
        (
            "tool_result_recalled",
            '{"ref_id":"off_1","offset":500,"chars":4000,"by":"model"}',
            "off_1, 4000 characters from 500, by model",
        ),
        ("offloads_swept", '{"expired":2,"crowded":0,"freed":9000,"damaged":[]}', "2 expired, 9000 bytes freed"),
        (
            "offloads_swept",
            '{"expired":0,"crowded":1,"receipts":3,"freed":5,"damaged":["s/c.json"]}',
            "0 expired, 1 made room, 3 receipts, 5 bytes freed, damaged, set aside: s/c.json",
        ),
        (
            "extension_invoked",
            '{"surface":"hook","name":"PreCompact","extension":"mine","status":"timeout","reason":"10 s"}',
            "hook PreCompact mine timeout, 10 s",
        ),
        ("session_forked", '{"parent":"s-0","turn":2,"round":5,"seq":31}', "from s-0, turn 2 round 5, #31"),
        ("llm_call_end", '{"usage":{"output_tokens":5},"cost_micro":null}', "5 out, unpriced, 0.0 s"),
        (
            "cache_broken",
            '{"cause":"dynamic","tokens":41000,"cost_micro":90000,"said":"system_changed"}',
            "dynamic, 41.0k read again, $0.09, system_changed",
        ),
        ("cache_hit_low", '{"read_tokens":9000,"cacheable_tokens":61000}', "9.0k read of 61.0k cacheable"),
        ("cost_warning", '{"total_micro":4000000,"limit_micro":5000000}', "$4.00 of $5.00"),
        ("made_up_event", '{"a":1}', '{"a":1}'),
        (
            "tool_exec_ended",
            '{"tool_name":"grep","tokens":9,"not_stored":"not stored: x"}',
            "grep ok, 0.0 s, 9 tok, not stored: x",
        ),
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
        ("tool_exec_ended", '{"has_error":false,"not_stored":"not stored: File exists"}', "warning"),
        ("turn_completed", '{"termination_reason":"natural"}', "info"),
        ("turn_completed", '{"termination_reason":"max_rounds"}', "warning"),
        ("command_finished", '{"outcome":"too_late"}', "warning"),
        ("message_opened", "garbage", "info"),
        ("context_critical", "{}", "warning"),
        ("offloads_swept", '{"damaged":["s/c.json"]}', "warning"),
        ("offloads_swept", '{"expired":3}', "info"),
        ("maintenance_ended", '{"status":"failed"}', "warning"),
        ("maintenance_ended", '{"status":"unchanged","paused":true}', "warning"),
        ("maintenance_ended", '{"status":"changed"}', "info"),
        ("extension_invoked", '{"status":"timeout"}', "warning"),
        ("extension_invoked", '{"status":"continue"}', "info"),
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
