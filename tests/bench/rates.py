"""How many events a second are written and folded, beside the libraries that do the work."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import apsw
import msgspec

from geode_tui.core import events as ev
from geode_tui.core.events import EventRow
from geode_tui.log.store import connect, create, transaction
from geode_tui.log.tail import EVENTS
from geode_tui.log.writer import Tx, Writer
from geode_tui.view.reduce import fold
from geode_tui.view.state import RunState
from tests.bench.bench import Bench, timed
from tests.bench.figures import Row, Target, median, row
from tests.bench.material import facts
from tests.bench.stores import BEGAN, SESSION

BATCH = 170
"""Events in a commit at 5,000 a second and 30 commits a second."""
ROUNDS = 5


def append(bench: Bench) -> list[Row]:
    """Batches through the worker's writer, beside the same rows put into the same table and index by hand."""
    payloads = [payload for _, payload in itertools.islice(facts(3), bench.count(60_000, 15_000))]
    ours, raw = [], []
    for turn in range(ROUNDS):
        writer = _writer(bench.scratch / f"append-{turn}" / ".geode" / "sessions.db")
        ours.append(len(payloads) / timed(lambda w=writer: _write(w, payloads)))  # type: ignore[misc]
        raw.append(len(payloads) / timed(lambda w=writer: _insert(w.db, w.number, payloads)))  # type: ignore[misc]
        writer.close()
    return [row("append_events_a_second", median(ours), median(raw), Target(ratio_at_least=0.7))]


def _writer(store: Path) -> Writer:
    create(store).close()
    writer = Writer(connect(store), store, SESSION)
    writer.raise_epoch(BEGAN, title="", prompt="", options="{}")
    return writer


def _write(writer: Writer, payloads: Sequence[ev.Payload]) -> None:
    for at in range(0, len(payloads), BATCH):
        part = payloads[at : at + BATCH]

        def work(tx: Tx, part: Sequence[ev.Payload] = part) -> None:
            for payload in part:
                tx.event(payload)

        writer.write(work, now=BEGAN, turn=1, round_=1)


def _insert(db: apsw.Connection, number: int, payloads: Sequence[ev.Payload]) -> None:
    """The limit: encoded by msgspec and inserted one by one, since each event's id is wanted."""
    encoder = msgspec.json.Encoder()
    names = {kind: name for name, kind in ev.CATALOGUE.items()}
    query = "INSERT INTO events(session, ts, turn, round, event, payload) VALUES(?,?,?,?,?,?)"
    for at in range(0, len(payloads), BATCH):
        with transaction(db):
            for payload in payloads[at : at + BATCH]:
                text = encoder.encode(payload).decode()
                db.execute(query, (number, BEGAN, 1, 1, names[type(payload)], text))
                db.last_insert_rowid()


def fold_rate(bench: Bench) -> list[Row]:
    """The fold, beside decoding the same rows with msgspec into the same types."""
    rows = [
        EventRow(number, BEGAN + number, 1, round_, ev.event_name(type(payload)), ev.encode_payload(payload))
        for number, (round_, payload) in enumerate(itertools.islice(facts(5), bench.count(200_000, 40_000)), start=1)
    ]
    decoders = {name: msgspec.json.Decoder(kind).decode for name, kind in ev.CATALOGUE.items()}
    folding, decoding = [], []
    for _ in range(ROUNDS):
        folding.append(timed(lambda: _fold(rows)) / len(rows) * 1e6)
        decoding.append(timed(lambda: [decoders[r.event](r.payload) for r in rows]) / len(rows) * 1e6)
    return [row("fold_us_an_event", median(folding), median(decoding), Target(ratio_at_most=3.0))]


def _fold(rows: Sequence[EventRow]) -> None:
    state = RunState()
    for at in range(0, len(rows), EVENTS):
        fold(state, rows[at : at + EVENTS])
