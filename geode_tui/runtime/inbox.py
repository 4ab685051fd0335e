"""Commands as a worker takes them: in order, each with exactly one outcome."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Literal

import apsw
import msgspec

from geode_tui.context.pressure import Need
from geode_tui.context.travel import travelling
from geode_tui.core.events import ApprovalTransition, ContextFigures, ModelSwitched, UserInputReceived
from geode_tui.core.limits import Limits
from geode_tui.core.messages import Message, user_text
from geode_tui.core.text import scrub
from geode_tui.core.usage import micro_usd
from geode_tui.log import commands as cmd
from geode_tui.log.rows import PendingCommand
from geode_tui.log.writer import Tx
from geode_tui.providers.access import NoProvider
from geode_tui.routes.budget import budget_of
from geode_tui.routes.prices import price_tiers
from geode_tui.routes.shape import MAX_TOKENS, shape
from geode_tui.runtime.approvals import Decision
from geode_tui.runtime.opened import OpenedRoute
from geode_tui.runtime.request import RequestPath
from geode_tui.runtime.session import Session
from geode_tui.runtime.switching import mixes_money, refusal

MAX_LIMIT = 1_000_000_000
CONTINUE_TEXT = "Go on where you stopped."


class Waiting(msgspec.Struct, frozen=True):
    """A command without an outcome; ``body`` is None where it cannot be understood."""

    row: PendingCommand
    body: cmd.Command | None
    claimed_epoch: int | None
    problem: str = ""


class Inbox:
    """Looks for commands by the file's change counter: a look that finds no change costs microseconds."""

    def __init__(self, db: apsw.Connection, session_id: str) -> None:
        self._db = db
        self._session_id = session_id
        self._version: int | None = None

    def changed(self) -> bool:
        """Whether anybody else wrote to the store since the last call."""
        version = int(self._db.pragma("data_version"))
        moved, self._version = version != self._version, version
        return moved

    def waiting(self) -> list[Waiting]:
        """Every command of the session without an outcome, oldest first."""
        found = []
        for row, payload, epoch in cmd.payloads(self._db, self._session_id):
            try:
                found.append(Waiting(row, cmd.decode(row.kind, payload), epoch))
            except (msgspec.ValidationError, msgspec.DecodeError) as error:
                found.append(Waiting(row, None, epoch, f"this command is not understood: {error}"))
        return found


class Commands:
    """The effects of commands on a session. Each is one transaction with its outcome, where its effect is a row."""

    def __init__(self, session: Session, request: RequestPath) -> None:
        self._session = session
        self._request = request

    async def settle(self, waiting: Waiting, outcome: str, detail: str = "") -> None:
        """Give a command its outcome and nothing else."""
        await self._session.journal.write(lambda tx: tx.finish(waiting.row, outcome, detail), durable=True)

    async def restart_server(self, waiting: Waiting, body: cmd.Mcp) -> None:
        """Connect an MCP server anew."""
        restart = self._session.restart_server
        problem = restart(body.restart) if restart is not None else "this run has no MCP servers"
        await self.settle(waiting, "refused" if problem else "done", problem)

    async def accept(self, waiting: Waiting, body: cmd.Submit, *, joins: bool) -> None:
        """A person's words become a message, and the command is done, in one transaction."""
        await self._input(waiting, user_text(scrub(body.text)), joins=joins)

    async def continue_turn(self, waiting: Waiting) -> None:
        """A resumed session whose last turn had ended: a new turn with words of its own, marked as such."""
        await self._input(waiting, user_text(CONTINUE_TEXT, "resume"), joins=False)

    async def _input(self, waiting: Waiting, message: Message, *, joins: bool) -> None:
        session = self._session

        def work(tx: Tx) -> int:
            if not tx.finish(waiting.row, "done"):
                return 0
            number, seq = tx.add_message(message)
            event = UserInputReceived(
                session_id=session.id,
                turn_id=session.turn_id,
                seq=seq,
                message_id=number,
                chars=len(message.text),
                origin=message.origin,
                joins=joins,
            )
            tx.event(event)
            return seq

        session.journal.probe("input: before row")
        if seq := await session.journal.write(work, durable=True):
            session.append(message, seq)
        session.journal.probe("input: after row")

    async def decide(self, waiting: Waiting, body: cmd.Decide) -> None:
        """An answer to an approval; one that is gone ends "too late"."""
        session = self._session
        if body.verdict not in {"allow", "deny"}:
            await self.settle(waiting, "refused", f"the verdict is allow or deny, not {body.verdict}")
            return
        taken = session.approvals.take(body.approval_id)
        if taken is None:
            await self.settle(
                waiting, "too_late", "nothing waits for an answer" if not body.approval_id else "that question is gone"
            )
            return
        question, answer = taken
        state: Literal["allowed", "denied"] = "allowed" if body.verdict == "allow" else "denied"
        moved = ApprovalTransition(
            question.approval_id,
            question.call_id,
            question.tool,
            state,
            "person",
            scrub(body.why),
            body.always,
        )

        def work(tx: Tx) -> None:
            tx.finish(waiting.row, "done")
            tx.event(moved)

        session.journal.probe("decision: before row")
        await session.journal.write(work, durable=True)
        session.journal.probe("decision: after row")
        if state == "allowed" and body.always:
            session.approvals.granted.add(question.grant)
        if not answer.done():
            answer.set_result(Decision(state, "person", body.always, body.why))

    async def retry(self, waiting: Waiting) -> None:
        """Cut the wait for the next attempt short."""
        if self._session.countdown.cut():
            await self.settle(waiting, "done")
        else:
            await self.settle(waiting, "refused", "no attempt is being waited for")

    async def model(self, waiting: Waiting, body: cmd.Model) -> None:
        """Go on with another model, where the conversation can (`switching.refusal`); else with the one before."""
        session = self._session
        if session.open_route is None:
            await self.settle(waiting, "refused", "this session keeps its model")
            return
        try:
            opened = await session.open_route(body.provider, body.model, body.effort)
        except NoProvider as error:
            await self.settle(waiting, "refused", str(error))
            return
        why = mixes_money(
            session.spent_micro, simulated=session.provider.simulated, target_simulated=opened.provider.simulated
        )
        gauge = self._gauge_on(opened, body.effort)
        if not why and gauge.used >= gauge.critical:
            gauge = await self._with_room(opened, body.effort, gauge)
        why = why or refusal(session.history, opened.route, gauge)
        if why:
            await opened.provider.aclose()
            await self.settle(waiting, "refused", why)
            return
        await self._switch(waiting, opened, body.effort, gauge)

    def _gauge_on(self, opened: OpenedRoute, effort: str) -> ContextFigures:
        """What the conversation takes on another route, as far as it travels."""
        session, meter = self._session, self._session.meter.copy()
        meter.retake(travelling(message, opened.route) for message in session.history)
        budget = budget_of(opened.route, shape(opened.route, MAX_TOKENS, effort).reserve)
        gauge = meter.figures(opened.route, budget, session.prefix, simulated=opened.provider.simulated)
        return msgspec.structs.replace(gauge, price_tiers=price_tiers(opened.route, session.clock.now()))

    async def _with_room(self, opened: OpenedRoute, effort: str, gauge: ContextFigures) -> ContextFigures:
        """The gauge after the route that goes has made room on the one that comes, as far as it can."""
        session = self._session
        target = budget_of(opened.route, gauge.output_reserve)
        need = Need(session.route, target, session.prefix, session.provider.simulated)
        await self._request.window.make_room(need)
        return self._gauge_on(opened, effort)

    async def _switch(self, waiting: Waiting, opened: OpenedRoute, effort: str, gauge: ContextFigures) -> None:
        session, before, left = self._session, self._session.route, self._session.provider
        session.take_route(opened)
        options = msgspec.structs.replace(
            session.options, model=opened.route.model, provider=opened.service, effort=effort
        )
        adopt = session.adopt(options)
        switched = ModelSwitched(
            from_model=before.model,
            to_model=opened.route.model,
            reason="person",
            from_provider=before.provider,
            from_source=before.source,
            provider=opened.route.provider,
            source=opened.route.source,
            context=gauge,
            effort=effort,
            simulated=opened.provider.simulated,
        )

        def work(tx: Tx) -> None:
            tx.finish(waiting.row, "done")
            tx.event(switched)
            adopt(tx)
            tx.session(model=opened.route.model, provider=opened.route.provider, source=opened.route.source)

        await session.journal.write(work, durable=True)
        await left.aclose()

    async def budget(self, waiting: Waiting, body: cmd.Budget) -> None:
        """Set a limit."""
        session = self._session
        try:
            limits = changed_limits(session.limits, body.limit, body.value)
        except ValueError as error:
            await self.settle(waiting, "refused", str(error))
            return

        adopt = session.adopt(msgspec.structs.replace(session.options, limits=limits))

        def work(tx: Tx) -> None:
            tx.finish(waiting.row, "done")
            adopt(tx)

        await session.journal.write(work, durable=True)


def changed_limits(limits: Limits, name: str, value: str) -> Limits:
    """``limits`` with one of them set from text: rounds, time and session in seconds, cost in USD; 0 is none.

    Raises ``ValueError`` with one line that says what is wrong.
    """
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"{value!r} is no number") from None
    if not number.is_finite() or not 0 <= number <= MAX_LIMIT:
        raise ValueError(f"a limit is 0 (none) to {MAX_LIMIT:,}")
    match name:
        case "rounds":
            return msgspec.structs.replace(limits, max_rounds=int(number))
        case "time":
            return msgspec.structs.replace(limits, time_budget_s=float(number))
        case "session":
            return msgspec.structs.replace(limits, session_budget_s=float(number))
        case "cost":
            return msgspec.structs.replace(limits, cost_budget_micro=micro_usd(number))
    raise ValueError(f"{name!r} is no limit: rounds, time, session or cost")
