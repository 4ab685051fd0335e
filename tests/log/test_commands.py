"""Commands: written once however often they are sent, and each with exactly one outcome."""

from __future__ import annotations

import msgspec
import pytest

from geode_tui.core.limits import Limits, RunOptions
from geode_tui.log import commands as cmd
from geode_tui.log.commands import Budget, Command, Decide, Interrupt, Resume, Submit
from geode_tui.log.store import fetch
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Writer
from tests.log.stores import NOW, SESSION, commit, open_writer


def send(writer: Writer, command: Command, key: str, session: str = SESSION) -> None:
    kind, payload = cmd.encode(command)
    cmd.send(writer.db, session, kind, payload, client_id="c", key=key, now=NOW)


@pytest.mark.parametrize(
    "command",
    [
        Submit("한글", later=True, options=RunOptions("m", limits=Limits(3, 60.0))),
        Interrupt(),
        Decide("deny", "a-1", always=True, why="no"),
        Budget("cost", "5.00"),
        Resume(),
    ],
)
def test_a_command_reads_back_as_it_was_sent(command: Command) -> None:
    assert cmd.decode(*cmd.encode(command)) == command


@pytest.mark.parametrize(
    ("kind", "payload"), [("format_disk", "{}"), ("submit", "{}"), ("submit", "[]"), ("decide", '{"verdict":3}')]
)
def test_what_is_no_command_is_refused(kind: str, payload: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        cmd.decode(kind, payload)


def test_the_same_key_twice_is_one_command(writer: Writer) -> None:
    send(writer, Submit("first"), "k")
    send(writer, Submit("second"), "k")
    assert [p.text for p in cmd.pending(writer.db, SESSION)] == ["first"]


def test_a_key_that_has_its_outcome_stays_one_command(writer: Writer) -> None:
    send(writer, Submit("x"), "k")
    command = cmd.pending(writer.db, SESSION)[0]
    assert cmd.outcome_of(writer.db, "k") is None
    assert commit(writer, lambda tx: tx.finish(command, "done"))
    send(writer, Submit("x"), "k")
    assert cmd.pending(writer.db, SESSION) == []
    assert cmd.outcome_of(writer.db, "k") == "done"


def test_a_command_gets_exactly_one_outcome_and_one_event(writer: Writer, transcript: Transcript) -> None:
    send(writer, Interrupt(), "k")
    command = cmd.pending(writer.db, SESSION)[0]
    assert commit(writer, lambda tx: tx.claim(command.id))
    assert commit(writer, lambda tx: (tx.finish(command, "done", "ended"), tx.finish(command, "refused"))) == (
        True,
        False,
    )
    assert not commit(writer, lambda tx: tx.finish(command, "unknown"))
    assert not commit(writer, lambda tx: tx.claim(command.id))
    assert [row.event for row in transcript.events(writer.number)] == ["command_finished"]
    assert cmd.outcome_of(writer.db, "k") == "done"


def test_commands_wait_in_the_order_they_were_written_each_session_its_own(writer: Writer) -> None:
    for key, session in [("z", SESSION), ("a", "s-2"), ("m", SESSION), ("b", SESSION)]:
        send(writer, Submit(key), key, session)
    assert [p.text for p in cmd.pending(writer.db, SESSION)] == ["z", "m", "b"]
    assert [p.text for p in cmd.pending(writer.db, "s-2")] == ["a"]


def test_a_claim_names_the_worker_that_made_it(writer: Writer) -> None:
    send(writer, Submit("x"), "k")
    send(writer, Interrupt(), "j")
    first, _ = cmd.pending(writer.db, SESSION)
    commit(writer, lambda tx: tx.claim(first.id))
    assert [(c.key, c.claimed, epoch) for c, _, epoch in cmd.payloads(writer.db, SESSION)] == [
        ("k", True, writer.epoch),
        ("j", False, None),
    ]
    later = open_writer(writer.path)
    assert [epoch for _, _, epoch in cmd.payloads(later.db, SESSION)] == [1, None]
    later.close()


@pytest.mark.parametrize("payload", ["not json", "[]", '{"text": 3}', "{}"])
def test_a_damaged_payload_still_waits_for_its_outcome(writer: Writer, payload: str) -> None:
    cmd.send(writer.db, SESSION, "submit", payload, client_id="c", key="k", now=NOW)
    waiting = cmd.pending(writer.db, SESSION)
    assert [p.key for p in waiting] == ["k"]
    assert commit(writer, lambda tx: tx.finish(waiting[0], "refused"))


def test_commands_are_synced_before_send_returns(writer: Writer) -> None:
    writer.db.pragma("synchronous", "normal")
    send(writer, Submit("x\ud800"), "k")
    assert writer.db.pragma("synchronous") == 2
    assert fetch(writer.db, "SELECT payload FROM commands") == [('{"text":"x\ufffd","later":false,"options":null}',)]
