"""Dreaming: after a turn, beside whatever comes next, what a session should still know later is written down
(RUNTIME.md 5.1). One dream at a time; none delays a turn, and what fails is written here without a model.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random

import msgspec

from geode_tui.context.dream import Dream
from geode_tui.context.dream_check import judged
from geode_tui.context.dream_local import local_dream
from geode_tui.context.dream_request import LEAST_TOKENS, SOURCE_TOKENS, request
from geode_tui.context.summary_source import Source, SourceTooLarge, source_limit
from geode_tui.context.upkeep import SummaryAnswer, SummaryFailed
from geode_tui.context.view import Item
from geode_tui.core.endings import SUCCESS
from geode_tui.core.events import ArtifactApproved, ArtifactForgotten, DreamEnded, DreamStarted
from geode_tui.core.text import Redactor, clean_line
from geode_tui.log import artifacts as kept
from geode_tui.log import commands as cmd
from geode_tui.log.transcript import Transcript
from geode_tui.log.views import Artifact, artifact_id, artifacts
from geode_tui.log.writer import Fenced, Tx
from geode_tui.routes.budget import budget_of, max_summary
from geode_tui.runtime.auxiliary import Auxiliary
from geode_tui.runtime.drafting import Drafting
from geode_tui.runtime.inbox import Waiting
from geode_tui.runtime.sending import Sender
from geode_tui.runtime.session import OpenItems, Session, TurnEnd

PERSON = "person"
LEAN_TOKENS = 2_000
"""How long a dream may become where there is a cost budget: its price is reckoned with before it is asked for."""
REST_S = 0.2
"""A dream that nobody asked for begins once no turn has been running for so long: putting one together takes a
processor's time, which belongs to turns."""
POSTPONED_S = 30.0
"""It waits so long for that and no longer: a turn may take hours."""
LOOKED_AT = 20
"""Newest artifacts among which the earlier ones are found that are told of."""
MARGIN = 0.9
"""Of the room that there is: the request is counted by an estimate."""
_log = logging.getLogger(__name__)


class Known(msgspec.Struct, frozen=True):
    """What the log knows before a dream: the last message that one is about, and the artifacts that hold, the newest
    first: not those that were forgotten or never used.
    """

    upto: int
    earlier: tuple[Artifact, ...]

    @property
    def dream(self) -> Artifact | None:
        """The newest dream."""
        return next((found for found in self.earlier if found.kind == kept.DREAM), None)


class Written(msgspec.Struct, frozen=True):
    """A dream, who wrote it, and what that cost."""

    dream: Dream
    answer: SummaryAnswer | None = None
    cost_micro: int = 0


class Dreaming:
    """See the module. Owned by the worker, which calls `stop` before it leaves and while it lives asks `busy`."""

    def __init__(self, session: Session, redact: Redactor) -> None:
        self._session = session
        self._redact = redact
        sender = Sender(session, redact, OpenItems())
        self._auxiliary = Auxiliary(session, Drafting(session), sender, redact, random.random)
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._asked: dict[int, Waiting] = {}
        self._begun = 0
        """The last message of the dream that a model is being asked for; 0 where none is."""

    @property
    def busy(self) -> bool:
        """Whether a dream is being written. It ends by itself, at the latest when its time is over."""
        return self._task is not None and not self._task.done()

    def turn_ended(self, end: TurnEnd) -> None:
        """A turn came to its end: dream of it, where that is wanted and the turn came to something."""
        if self._session.dreams.enabled and self._session.rounds > 0 and end.ending in SUCCESS:
            self._begin()

    async def serve(self, waiting: Waiting) -> None:
        """Do what a person asks of what is kept. Asking again for what is being done changes nothing."""
        match waiting.body:
            case cmd.Dream():
                if waiting.row.id not in self._asked:
                    self._asked[waiting.row.id] = waiting
                    self._begin()
            case cmd.ForgetArtifact(artifact_id=named, why=why):
                await self._forget(waiting, named, clean_line(self._redact(why), 200))
            case cmd.ApproveArtifact(artifact_id=named):
                await self._approve(waiting, named)

    async def stop(self) -> None:
        """Cancel the dream that is being written, and wait until nothing of it is left open."""
        task, self._task, self._again = self._task, None, False
        self._asked.clear()
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    # -- one at a time ------------------------------------------------------------------------------------------------
    def _begin(self) -> None:
        if self.busy:
            self._again = True
            return
        self._task = asyncio.create_task(self._run(), name=f"geode-dream-{self._session.id}")

    async def _run(self) -> None:
        with contextlib.suppress(Fenced):  # what the worker writes next will find that out as well
            self._again = True
            while self._again:
                self._again = False
                await self._one(dict(self._asked))

    async def _one(self, asked: dict[int, Waiting]) -> None:
        """Dream once, for those who ``asked`` as well."""
        try:
            if not asked:
                await self._rest()
            await self._dream(asked)
        except asyncio.CancelledError:
            await self._cut_off("the worker left")
            raise
        except Fenced:
            raise
        except Exception as error:  # noqa: BLE001 - a defect ends the dream, not the worker
            _log.exception("the dream failed")
            line = f"internal error: {type(error).__name__}: {clean_line(str(error))}"
            await self._cut_off(line)
            await self._settle(asked, "refused", line)
        for done in asked:
            self._asked.pop(done, None)

    async def _rest(self) -> None:
        """Wait until no turn runs."""
        clock = self._session.clock
        since = clock.monotonic()
        while True:
            await clock.sleep(REST_S)
            if not self._session.in_turn or clock.monotonic() - since >= POSTPONED_S:
                return

    async def _cut_off(self, why: str) -> None:
        """Say that the dream which was begun will not be."""
        if upto := self._begun:
            ended = DreamEnded("cancelled", upto, why=why)
            await self._session.journal.write(lambda tx: tx.event(ended))
            self._begun = 0

    async def _dream(self, asked: dict[int, Waiting]) -> None:
        session = self._session
        items = tuple(session.conversation.items)
        if not items:
            await self._settle(asked, "refused", "there are no messages to dream of")
            return
        upto = items[-1].seq
        known = await session.journal.read(lambda t: known_of(t, session.id))
        if known.upto >= upto:
            await self._settle(asked, "done", f"up to date: there is a dream of the messages up to {known.upto}")
            return
        written = await self._written(items, known)
        await self._keep(written, len(items), asked)

    # -- writing ------------------------------------------------------------------------------------------------------
    async def _written(self, items: tuple[Item, ...], known: Known) -> Written:
        session, before = self._session, self._session.dream_micro
        try:
            if session.provider.name == "offline":
                raise SummaryFailed("offline", "the offline planner is no model")
            return await self._asked_for(items, known)
        except SummaryFailed as failed:
            why = str(failed)
        made = await asyncio.to_thread(
            local_dream, items, known.dream, session_id=session.id, redact=self._redact, why=why
        )
        return Written(made, cost_micro=session.dream_micro - before)

    async def _asked_for(self, items: tuple[Item, ...], known: Known) -> Written:
        """A model's dream. Raises `SummaryFailed` where there is none that can be used."""
        session, route, before = self._session, self._session.route, self._session.dream_micro
        longest = LEAN_TOKENS if session.limits.cost_budget_micro else max_summary(route.window)
        most = max(1, min(longest, route.max_output, route.window // 3))
        budget = budget_of(route, most)
        limit = int(min(SOURCE_TOKENS, source_limit(route.window, most, budget.input_cap) * MARGIN))
        source = await asyncio.to_thread(self._source, items, known, limit, most)
        started = DreamStarted(source.upto, route.model, route.provider)
        await session.journal.write(lambda tx: tx.event(started))
        self._begun = source.upto
        session.journal.probe("dream: before request")
        answer = await self._auxiliary.dream(source, most, self._left_micro())
        session.journal.probe("dream: after request")
        made = await asyncio.to_thread(
            judged, answer.text, items, source.first, source.upto, session_id=session.id, redact=self._redact
        )
        if made is None:
            raise SummaryFailed("form", "the model's answer has not the form of a dream")
        return Written(made, answer, session.dream_micro - before)

    def _source(self, items: tuple[Item, ...], known: Known, limit: int, most: int) -> Source:
        if limit < LEAST_TOKENS:
            raise SummaryFailed("context_overflow", "the window has no room for its request")
        try:
            return request(items, known.earlier, limit, most, self._session.meter.counter.count, self._redact)
        except SourceTooLarge as error:
            raise SummaryFailed("context_overflow", str(error)) from None

    def _left_micro(self) -> int | None:
        """What a dream may cost, micro-dollars; None where there is no cost budget."""
        session = self._session
        budget = session.limits.cost_budget_micro
        if not budget:
            return None
        return min(round(budget * session.dreams.share) - session.dream_micro, budget - session.spent_micro)

    # -- keeping ------------------------------------------------------------------------------------------------------
    async def _keep(self, written: Written, messages: int, asked: dict[int, Waiting]) -> None:
        """The dream's row, its event and the outcomes of those who asked for it, in one transaction."""
        session, dream = self._session, written.dream
        named = artifact_id(session.id, kept.DREAM, dream.first, dream.upto, dream.content)
        tokens = await asyncio.to_thread(session.meter.counter.count, dream.content)
        ended = DreamEnded(
            "written",
            dream.upto,
            dream.first,
            named,
            local=written.answer is None,
            why=dream.why,
            marked=len(dream.marks),
            dropped=dream.dropped,
            cost_micro=written.cost_micro,
        )

        def work(tx: Tx) -> None:
            observed = kept.said_between(tx.db, session.id, dream.first, dream.upto)
            stored = kept.keep_dream(tx, session.id, _artifact(written, named, tokens, messages, observed))
            tx.event(ended if stored else DreamEnded("cancelled", dream.upto, why="up to date"))
            detail = f"messages {dream.first} to {dream.upto}" if stored else "up to date"
            for waiting in asked.values():
                tx.finish(waiting.row, "done", detail)

        session.journal.probe("dream: before row")
        await session.journal.write(work)
        self._begun = 0
        session.journal.probe("dream: after row")

    async def _settle(self, asked: dict[int, Waiting], outcome: str, detail: str) -> None:
        if asked:
            await self._session.journal.write(
                lambda tx: [tx.finish(waiting.row, outcome, detail) for waiting in asked.values()], durable=True
            )

    async def _forget(self, waiting: Waiting, named: str, why: str) -> None:
        def work(tx: Tx) -> None:
            kind = kept.forget(tx, self._session.id, named, PERSON, why)
            if kind is not None:
                tx.event(ArtifactForgotten(named, kind, why))
            _settled(tx, waiting, kind)

        await self._session.journal.write(work, durable=True)

    async def _approve(self, waiting: Waiting, named: str) -> None:
        def work(tx: Tx) -> None:
            kind = kept.approve(tx, self._session.id, named, PERSON)
            if kind is not None:
                tx.event(ArtifactApproved(named, kind))
            _settled(tx, waiting, kind)

        await self._session.journal.write(work, durable=True)


def known_of(transcript: Transcript, session_id: str) -> Known:
    """See `Known`."""
    found = reversed(artifacts(transcript.db, session_id, newest=LOOKED_AT))
    usable = tuple(a for a in found if a.content and a.metadata.get("applied") is not False)
    return Known(kept.dreamt_upto(transcript.db, session_id), usable)


def _settled(tx: Tx, waiting: Waiting, kind: str | None) -> None:
    if kind is None:
        tx.finish(waiting.row, "refused", "this session keeps no such text")
    else:
        tx.finish(waiting.row, "done", kind.replace("_", " "))


def _artifact(written: Written, named: str, tokens: int, messages: int, observed: tuple[float, float]) -> Artifact:
    """The dream as a row: when it was written is the row's own time, when its evidence was said stands beside."""
    dream, answer = written.dream, written.answer
    metadata = {
        "created_by": "dreaming",
        "llm_used": answer is not None,
        "local": answer is None,
        "why": dream.why,
        "message_count": messages,
        "cost_micro": written.cost_micro,
        "marks": [{"line": mark.line, "why": mark.why} for mark in dream.marks],
        "dropped": dream.dropped,
        "observed_from": observed[0],
        "observed_at": observed[1],
    }
    return Artifact(
        named,
        kept.DREAM,
        dream.content,
        dream.first,
        dream.upto,
        metadata,
        tokens,
        answer.model if answer is not None else "",
        answer.provider if answer is not None else "",
    )
