"""A store that is locked or full: readers go on, the writer tries again, nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from geode_tui.core.messages import user_text
from geode_tui.log.blobs import store_text
from geode_tui.log.store import StoreBusy, StoreFull, connect, fetch_one
from geode_tui.log.tail import Tail
from geode_tui.log.transcript import Transcript
from geode_tui.log.writer import Writer
from geode_tui.runtime.journal import Journal
from tests.log.stores import A_FACT, SESSION, commit, facts, finished, open_writer, python, said, tell

HOLD = """
import sys
from geode_tui.log.store import connect
from pathlib import Path
db = connect(Path(sys.argv[1]))
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE sessions SET title='held' WHERE session_id='nobody'")
print("held", flush=True)
sys.stdin.readline()
db.execute("COMMIT")
"""


class ShortClock:
    """Short pauses that let other tasks run."""

    def __init__(self) -> None:
        self.slept = 0

    def now(self) -> float:
        return 1.0

    def monotonic(self) -> float:
        return 1.0

    async def sleep(self, seconds: float) -> None:
        self.slept += 1
        await asyncio.sleep(0.01)


@pytest.fixture
async def journal(store: Path) -> AsyncIterator[Journal]:
    made = Journal(open_writer(store, wait_s=0.02), ShortClock())
    yield made
    await made.close()


async def test_while_another_process_writes_readers_read_and_the_writer_waits(journal: Journal, store: Path) -> None:
    """B069."""
    troubles: list[str] = []
    seen = asyncio.Event()

    def note(line: str) -> None:
        troubles.append(line)
        seen.set()

    journal.on_trouble = note
    facts(journal.writer, 3)
    holder = await asyncio.to_thread(python, HOLD, str(store))
    assert await asyncio.to_thread(said, holder) == "held"

    writes = [asyncio.ensure_future(journal.write(lambda tx: tx.event(A_FACT))) for _ in range(20)]
    await seen.wait()
    reader = connect(store, wait_s=0.02)
    assert len(Tail(reader, SESSION).fetch().events) == 3
    assert [row.session_id for row in Transcript(reader, store.parent).sessions()] == [SESSION]
    assert not any(write.done() for write in writes)

    tell(holder)
    ids = await asyncio.gather(*writes)
    await asyncio.to_thread(finished, holder)
    assert len(set(ids)) == 20
    assert len(Tail(reader, SESSION).fetch().events) == 23
    assert str(holder.pid) in troubles[0]
    assert str(store) in troubles[0]
    assert troubles[-1] == ""
    reader.close()


def test_a_writer_that_was_refused_the_lock_can_write_afterwards(store: Path) -> None:
    writer = open_writer(store, wait_s=0.01)
    other = apsw.Connection(str(store))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        facts(writer, 1)
    other.execute("ROLLBACK")
    assert facts(writer, 1)
    writer.close()
    other.close()


FILL = """
import asyncio, resource, signal, sys
from pathlib import Path
from geode_tui.core.messages import user_text
from geode_tui.log.store import connect, fetch_one
from geode_tui.runtime.clock import SystemClock
from geode_tui.runtime.journal import Journal
from tests.log.stores import A_FACT, open_writer

SIZE, COUNT = int(sys.argv[2]), int(sys.argv[3])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

class Clock(SystemClock):
    async def sleep(self, seconds):
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

async def main():
    writer = open_writer(Path(sys.argv[1]))
    troubles = []
    journal = Journal(writer, Clock())
    journal.on_trouble = troubles.append
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    for n in range(COUNT):
        def work(tx):
            tx.event(A_FACT)
            tx.add_message(user_text(str(n) * SIZE))
            tx.event(A_FACT)
        await journal.write(work, durable=n % 2 == 0)
    await journal.close()
    print(troubles)

asyncio.run(main())
"""


@pytest.mark.parametrize(("size", "count"), [(20_000, 40), (400_000, 3)], ids=["rows", "files"])
def test_on_a_full_disk_the_writer_tries_again_until_there_is_space(store: Path, size: int, count: int) -> None:
    """B072: with rows, and with bodies that are files."""
    out = finished(python(FILL, str(store), str(size), str(count)))
    assert "free some space" in out
    assert out.rstrip().endswith("'']")
    db = connect(store)
    assert db.pragma("integrity_check") == "ok"
    assert fetch_one(db, "SELECT count(*) FROM events") == (2 * count,)
    stored = Transcript(db, store.parent).messages(SESSION)
    assert [m.row.seq for m in stored] == list(range(1, count + 1))
    assert all(m.message.text == str(n) * size for n, m in enumerate(stored))
    db.close()


def test_a_write_that_met_a_full_disk_leaves_nothing_half_done(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("geode_tui.log.blobs.store_text", full)
    with pytest.raises(StoreFull, match=r"free some space; nothing is lost"):
        commit(writer, lambda tx: (tx.event(A_FACT), tx.add_message(user_text("x"))))
    monkeypatch.setattr("geode_tui.log.blobs.store_text", store_text)
    assert fetch_one(writer.db, "SELECT count(*) FROM events") == (0,)
    assert commit(writer, lambda tx: tx.add_message(user_text("x"))) == (1, 1)


async def test_a_write_is_never_half_known_when_its_task_is_cancelled(journal: Journal) -> None:
    task = asyncio.ensure_future(journal.write(lambda tx: tx.event(A_FACT)))
    await asyncio.sleep(0)
    task.cancel()
    assert await task == 1
    assert await journal.read(lambda t: len(t.events(journal.writer.number))) == 1
