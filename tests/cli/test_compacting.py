"""`compact`, `undo`, `redo`: what the model is sent, changed by hand from another terminal."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from geode_tui.cli import awaiting
from geode_tui.log import commands as cmd
from geode_tui.log.store import connect
from tests.cli.conftest import Here
from tests.cli.place import Place, until
from tests.lab import Call, Lab, Say, lab_thread

COMPACT = {
    "allowed", "strategy", "reason", "keep_recent", "summarised", "protected", "tokens_before", "tokens_after",
    "applied", "view_version", "artifact_id", "persisted", "lost",
}  # fmt: skip


LOST = ("kind", "text", "seq")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One place for the module: a run that has ended, which every test copies. Nothing here changes it."""
    made = Place(tmp_path_factory.mktemp("compact"))
    for number in range(6):
        (made.root / f"part{number}.py").write_text(f"def part{number}(): return {number}  # a word or two\n" * 90)
    assert made.cli("run", "survey this project", "--provider", "offline", "--approve", "reads").status == 0
    yield made
    made.close()


@pytest.fixture(scope="module")
def base(place: Place) -> str:
    return place.sessions()[-1]


@pytest.fixture
def session(here: Here, base: str) -> str:
    return str(here("fork", base, "--json").json["session_id"])


def transcript(place: Place, session_id: str) -> list[Any]:
    return place.query("SELECT seq, role, content FROM messages WHERE session_id=? ORDER BY seq", session_id)


def changes(place: Place, session_id: str) -> list[dict[str, Any]]:
    return place.payloads(session_id, "view_changed")


# -- at rest -----------------------------------------------------------------------------------------------------------
def test_a_dry_run_says_what_the_real_one_then_does(place: Place, here: Here, session: str) -> None:
    planned = here("compact", session, "--dry-run", "--json")
    assert planned.status == 0
    assert set(planned.json) == COMPACT
    assert changes(place, session) == []
    used = here("context", session, "--json").json["used"]
    assert planned.json["tokens_before"] == used, "nothing was sent yet: the gauge is of the next request"
    done = here("compact", session, "--json")
    assert done.status == 0
    (changed,) = changes(place, session)
    for name in ("allowed", "strategy", "reason", "keep_recent", "summarised", "protected", "tokens_before"):
        assert done.json[name] == planned.json[name], name
    assert done.json["tokens_before"] == changed["tokens_before"]
    assert (planned.json["applied"], planned.json["view_version"], planned.json["artifact_id"]) == (False, 0, None)
    assert planned.json["lost"] == [], "what a summary loses is known when it is written"
    assert abs(planned.json["tokens_after"] - changed["tokens_after"]) < 100
    assert done.json["tokens_after"] == changed["tokens_after"] < changed["tokens_before"]
    assert (done.json["applied"], done.json["view_version"], done.json["persisted"]) == (True, 1, True)
    assert place.query("SELECT artifact_id FROM context_artifacts WHERE session_id=?", session) == [
        (done.json["artifact_id"],)
    ]


def test_after_an_answer_the_preview_starts_from_the_confirmed_prompt_and_that_answer(
    place: Place, here: Here, base: str
) -> None:
    last = place.payloads(base, "llm_call_ended")[-1]
    context = here("context", base, "--json").json
    assert (context["measured"], context["used"]) == ("confirmed", last["context"]["used"])
    planned = here("compact", base, "--dry-run", "--json").json
    assert planned["tokens_before"] == context["used"] + last["usage"]["output_tokens"]


def test_undo_and_redo_go_back_and_forward_and_the_gauge_follows(place: Place, here: Here, session: str) -> None:
    before = transcript(place, session)
    start = here("context", session, "--json").json["used"]
    compacted = here("compact", session, "--json").json
    undone = here("undo", session, "--json")
    assert (undone.status, undone.json) == (0, {"view_version": 2, "tokens": start})
    told = here("context", session, "--json").json
    assert (told["used"], told["view"]) == (start, {"version": 2, "cause": "undo", "mode": "text"})
    redone = here("redo", session, "--json").json
    assert redone == {"view_version": 3, "tokens": compacted["tokens_after"]}
    assert here("context", session, "--json").json["used"] == compacted["tokens_after"]
    assert here("undo", session).out.startswith("undo: ")
    assert transcript(place, session) == before, "the transcript is never changed"


def test_what_the_summary_lost_is_told(place: Place, here: Here, session: str) -> None:
    rules = [f"Never rename the {what} of part{n}.py." for n, what in enumerate(("first name", "loop", "header") * 2)]
    asking = ("run", "--session", session, "--approve", "reads")
    assert (
        here(*asking, "survey this project. " + "It is a small one, so look well. " * 9 + " ".join(rules)).status == 0
    )
    assert here(*asking, "survey this project").status == 0
    done = here("compact", session, "--keep", "2", "--json").json
    (changed,) = changes(place, session)
    assert done["lost"] == changed["lost"]
    told = {item["text"]: item for item in done["lost"]}
    assert set(told) >= set(rules[3:]), "of a message's rules the first three stand in a summary without a model"
    assert not set(told) & set(rules[:3])
    assert {(told[rule]["kind"], tuple(told[rule])) for rule in rules[3:4]} == {("rule", LOST)}
    assert here("undo", session).status == 0
    line = here("compact", session, "--keep", "2").out.splitlines()[-1]
    first, second, third = (rule.rstrip(".") for rule in rules[3:])
    assert line.startswith(f"{len(told)} things that the summary does not hold: {first}; {second}; {third}")


def test_pruning_leaves_messages_out_without_a_summary(place: Place, here: Here, session: str) -> None:
    planned = here("compact", session, "--prune", "--keep", "3", "--dry-run", "--json").json
    done = here("compact", session, "--prune", "--keep", "3", "--json").json
    assert (done["strategy"], done["keep_recent"], done["artifact_id"], done["persisted"]) == ("prune", 3, None, False)
    assert done["summarised"] == planned["summarised"]
    told = here("context", session, "--json").json
    (hidden,) = [block for block in told["blocks"] if block["state"] == "left_out"]
    assert hidden["hidden"]["count"] == done["summarised"]["messages"]
    line = f"view: version 1, by you, {done['summarised']['messages']} messages left out"
    assert line in here("context", session).out.splitlines()
    korean = here("context", session, env={"GEODE_LANGUAGE": "ko", "LANG": "ko_KR.UTF-8"}).out
    assert f"보기: 버전 1, 직접, 메시지 {done['summarised']['messages']}개 제외" in korean.splitlines()


def test_the_context_as_of_a_round_is_told_by_the_view_of_that_time(place: Place, here: Here, session: str) -> None:
    asking = ("run", "survey this project", "--session", session, "--approve", "reads")
    assert here(*asking).status == 0
    done = here("compact", session, "--json").json
    assert here(*asking).status == 0
    now = here("context", session, "--json").json
    assert (now["turn"], now["view"]) == (3, {"version": 1, "cause": "manual", "mode": "text"})
    then = here("context", session, "--round", "2.1", "--json").json
    assert (then["turn"], then["round"], then["view"]) == (2, 1, {"version": 0, "cause": "original", "mode": "text"})
    assert {block["state"] for block in then["blocks"]} <= {"fixed", "verbatim", "unsent"}
    later = here("context", session, "--round", "3.1", "--json").json
    assert later["view"] == now["view"]
    states = [block["state"] for block in later["blocks"] if block["kind"] == "summaries"]
    assert states == ["summarised"]
    shown = {block["seq"] for block in later["blocks"] if block["state"] == "verbatim"}
    part = done["summarised"]
    assert not shown & {*range(part["from_seq"], part["to_seq"] + 1)} - {r["seq"] for r in done["protected"]}
    assert here("context", session, "--round", "1", "--json").json["turn"] == 3, "the newest turn that has it"
    assert "it has 2.1 to 2." in here("context", session, "--round", "1.1").line


# -- refused -----------------------------------------------------------------------------------------------------------
def test_nothing_to_do_is_one_line_and_an_exit_status(place: Place, here: Here, session: str) -> None:
    for what, why in (("undo", "there is nothing to undo"), ("redo", "there is nothing to redo")):
        done = here(what, session)
        assert done.status == 1
        assert why in done.line
    for flags in (("--dry-run",), ()):
        done = here("compact", session, "--keep", "1000", "--json", *flags)
        assert done.status == 1
        assert set(done.json) == COMPACT
        assert (done.json["allowed"], done.json["strategy"], done.json["applied"]) == (False, "none", False)
        assert done.json["tokens_after"] == done.json["tokens_before"] > 0
        assert done.json["reason"] in done.err
    assert changes(place, session) == []


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--keep", "0"), "--keep is 1 to 1,000 messages"),
        (("--keep", "1001"), "--keep is 1 to 1,000 messages"),
        (("--prune", "--focus", "x"), "--prune writes none"),
        (("--hard",), "Unknown option"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_written(
    place: Place, here: Here, base: str, flags: tuple[str, ...], why: str
) -> None:
    done = here("compact", base, *flags)
    assert done.status == 2
    assert why in done.line
    assert place.query("SELECT 1 FROM commands WHERE kind='compact' AND session_id=?", base) == []


@pytest.mark.parametrize("what", ["compact", "undo", "redo"])
def test_an_agent_cannot_change_what_it_is_sent(here: Here, base: str, what: str) -> None:
    done = here(what, base, env={"GEODE_INSIDE_RUN": base})
    assert done.status == 2
    assert f"{what} is refused inside a run" in done.line


@pytest.mark.parametrize("what", [("compact",), ("compact", "--dry-run"), ("undo",), ("redo",), ("fork",)])
def test_a_run_of_another_program_is_left_alone(place: Place, here: Here, session: str, what: tuple[str, ...]) -> None:
    place.kill_worker(session)
    connect(place.store).execute("UPDATE sessions SET origin='claude-code' WHERE session_id=?", (session,))
    done = here(what[0], session, *what[1:])
    assert done.status == 2
    assert "this run was recorded by claude-code" in done.line


# -- while it runs -----------------------------------------------------------------------------------------------------
def asking(place: Place, session: str) -> subprocess.Popen[str]:
    """A turn of the session that waits for an approval."""
    client = place.start("run", "run `echo x`", "--session", session, "--approve", "reads", "--wait-for-approval")
    until(lambda: place.state(session).approvals, "a question")
    return client


def test_on_a_live_run_it_waits_for_the_rounds_end_and_ctrl_c_leaves_the_command_there(
    place: Place, here: Here, session: str
) -> None:
    client = asking(place, session)
    first, second = (place.start("compact", session, "--json") for _ in range(2))
    query = "SELECT 1 FROM commands WHERE kind='compact' AND done_at IS NULL AND session_id=?"
    until(lambda: len(place.query(query, session)) == 2, "the commands")
    first.send_signal(signal.SIGINT)
    left = place.end(first)
    assert left.status == 130
    assert "the run is going on: compact takes effect at its next round" in left.err
    assert "left; compact goes on" in left.err
    assert changes(place, session) == []
    assert here("approve", session).status == 0
    done = place.end(second)
    assert place.end(client).status == 0
    assert place.query(query, session) == []
    (changed,) = changes(place, session)
    outcomes = [p["outcome"] for p in place.payloads(session, "command_finished") if p["kind"] == "compact"]
    assert sorted(outcomes) == ["done", "refused"], "the second finds nothing new to summarise"
    assert done.json["applied"] is (done.status == 0)
    assert changed["cause"] == "manual"


def test_where_the_worker_dies_the_next_one_takes_the_command_up(
    place: Place, here: Here, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awaiting, "GONE_S", 0.1)
    client = asking(place, session)
    planned = here("compact", session, "--dry-run", "--json").json
    key = place.send(session, cmd.Compact())
    place.kill_worker(session)
    assert place.end(client).status == 1
    assert changes(place, session) == []
    assert "version 1" in awaiting.awaited(place.client(session), key, "compact")
    (changed,) = changes(place, session)
    assert planned["tokens_before"] <= changed["tokens_before"] < 1.1 * planned["tokens_before"], (
        "the call's end joined"
    )
    assert abs(changed["tokens_after"] - planned["tokens_after"]) < 200
    assert place.state(session).turn_open, "it is still to be resumed"


# -- by a model --------------------------------------------------------------------------------------------------------
def by_model(lab: Lab) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": lab.base_url}


def test_a_model_writes_the_summary_and_is_told_what_it_must_not_miss(place: Place, here: Here) -> None:
    summary = "## Active Task\n- read part0.py and part1.py and compare them\n## Completed Actions\n- both were read"
    steps = [Call("read_file", {"path": f"part{number}.py"}) for number in range(6)]
    with lab_thread(script=[*steps, Say("done"), Say(summary)]) as lab:
        asked = ("run", "read part0.py and part1.py and compare them", "--model", "claude-haiku-4-5", "--json")
        done = here(*asked, "--provider", "anthropic", "--approve", "reads", env=by_model(lab))
        assert done.status == 0
        session = done.events[0]["session_id"]
        planned = here("compact", session, "--keep", "2", "--dry-run", "--json").json
        assert (planned["strategy"], planned["allowed"]) == ("client_summary", True), "no key is needed to look ahead"
        made = here("compact", session, "--keep", "2", "--focus", "kumquats", "--json", env=by_model(lab))
        request = lab.requests[-1].body
    assert (made.status, made.json["applied"], made.json["persisted"]) == (0, True, True)
    for name in ("tokens_before", "strategy", "summarised", "reason"):
        assert made.json[name] == planned[name], name
    assert "kumquats" in str(request)
    assert place.query("SELECT content LIKE '%compare them%' FROM context_artifacts WHERE session_id=?", session) == [
        (1,)
    ]


def test_a_model_whose_contract_is_not_known_keeps_its_history(place: Place, here: Here, session: str) -> None:
    place.kill_worker(session)
    change = "UPDATE sessions SET model='claude-nobody-9', provider='anthropic', source='payg' WHERE session_id=?"
    connect(place.store).execute(change, (session,))
    refused = here("compact", session, "--dry-run")
    assert refused.status == 1
    assert "it is not known what claude-nobody-9 accepts" in refused.line
