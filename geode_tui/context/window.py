"""The window's keeper: what is done when the context fills up, when a provider says that it is too full, and by hand.

One pass at most a request (RUNTIME.md 2.1 to 2.3, 2.7). Nothing is ever deleted: every step is a version of the view.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from geode_tui.context.conversation import Candidate, Conversation
from geode_tui.context.mode import Ways, ways
from geode_tui.context.native_step import NativeStep
from geode_tui.context.pressure import Breaker, Need, Pressure, goal_of, pressure_of, waits
from geode_tui.context.steps import Pass
from geode_tui.context.summary_step import SummaryStep
from geode_tui.context.trim import max_turns
from geode_tui.context.upkeep import Ports, Result
from geode_tui.core.events import ContextCritical
from geode_tui.core.views import Cause, Version
from geode_tui.routes.budget import keep_recent

KEEP_RECENT = 10
"""Newest messages that a summary leaves as they are, where nobody says otherwise (RUNTIME.md 1.2)."""
MASK_KEEP_ROUNDS = 3
"""Answers whose results are never masked by maintenance (RUNTIME.md 2.8); a recovery keeps one."""
PRUNE_KEEP = 2
"""Newest messages that a prune by hand leaves (RUNTIME.md 3.7)."""
RECOVERED_PERCENT = 90
"""A recovery goes on down the ladder until the estimate is at most this share of what was refused (RUNTIME.md 2.7)."""
MODEL_SUMMARIES = 2
"""Refused or failed ones of a turn, after which no model is asked for another in it."""
BUSY = "the context is being worked on already"
STEPS: dict[Pressure, tuple[str, ...]] = {
    "ceiling": ("shrink", "summarise"),
    "warning": ("mask", "shrink", "summarise"),
    "critical": ("mask", "shrink", "summarise", "trim"),
}
BOUND_STEPS: dict[Pressure, tuple[str, ...]] = {
    "ceiling": ("summarise",),
    "warning": ("summarise", "mask", "shrink"),
    "critical": ("summarise", "mask", "shrink", "trim"),
}
"""Where thinking holds only with what stands before it, what costs it is done together with a summary, after it."""
THRESHOLD_STEPS = ("native", "summarise", "trim")
"""At critical where the provider compacts by itself and has not: below it nothing is done here (RUNTIME.md 2.3)."""


class WindowManager:
    """See the module. ``conversation`` gives the one that is going on."""

    def __init__(self, conversation: Callable[[], Conversation], ports: Ports) -> None:
        self._conversation = conversation
        self._ports = ports
        self._breaker = Breaker()
        self._busy = asyncio.Lock()
        self._refused: tuple[int, int] = (0, 0)
        """A turn, and how many summaries of a model could not be used in it."""

    # -- by itself ----------------------------------------------------------------------------------------------------
    async def maintain(self, need: Need, session_id: str, turn_id: str) -> None:
        """Whatever the next request asks for, once."""
        conversation = self._conversation()
        way = ways(conversation, need.route)
        if not (way.native or way.text):
            return
        await self._bound_turns(need)
        figures = conversation.figures(need.budget, need.prefix, simulated=need.simulated)
        pressure = pressure_of(figures, known=need.known)
        if pressure == "ok":
            self._breaker = Breaker()
            return
        if way.mode == "threshold" and pressure != "critical":
            return
        if way.mode == "on_demand" and pressure == "ceiling":
            return
        if waits(conversation.view.held, figures, pressure):
            return
        if self._breaker.rests(figures.used):
            return
        if pressure == "critical":
            route = need.route
            await self._ports.tell(
                ContextCritical(figures, route.model, route.provider, route.source, session_id, turn_id)
            )
        hard = pressure == "critical"
        step = Pass(conversation, self._ports, need, pressure, hard=hard, goal=goal_of(pressure, need.budget))
        async with self._running(step):
            await self._ladder(step, steps_for(way, need, pressure))
            before = self._breaker
            self._breaker = before.after(step.before.used, step.figures().used)
            paused = bool(self._breaker.rests_at) and not before.rests_at
            if paused:
                step.line = "maintenance rests: the last passes won too little to be worth what they cost"
            await step.end(paused=paused)

    async def _bound_turns(self, need: Need) -> None:
        conversation = self._conversation()
        operation = max_turns(conversation.items, conversation.view)
        if operation is None:
            return
        step = Pass(conversation, self._ports, need, "max_turns", hard=True, goal=0)
        async with self._running(step):
            await step.begin()
            await step.commit([operation], "prune")
            await step.end()

    async def _ladder(self, step: Pass, names: tuple[str, ...], *, recovering: int | None = None) -> None:
        """Run the steps down to where it is enough. ``recovering`` is the room that a recovery leaves, tokens."""
        rounds = MASK_KEEP_ROUNDS if recovering is None else 1
        for name in names:
            if step.enough:
                return
            if name != "native" and not ways(step.conversation, step.need.route).text:
                return
            if step.need.route.thinking_bound and not step.hard and name != "summarise" and step.action != "compact":
                return
            match name:
                case "mask":
                    await step.mask(rounds)
                case "shrink":
                    await step.shrink()
                case "native":
                    await NativeStep(step, keep_recent(step.need.budget.window, KEEP_RECENT)).run()
                    if step.status == "deferred" and not step.hard:
                        return
                case "summarise":
                    await self._summarise(step, keep_recent(step.need.budget.window, KEEP_RECENT))
                    if step.status in {"deferred", "failed"} and not step.hard:
                        return
                case _:
                    await step.trim(step.goal if recovering is None else recovering)
                    if step.figures().used > step.need.budget.prompt:
                        await step.shrink(last_batch=True)

    async def _summarise(self, step: Pass, keep: int, focus: str = "") -> None:
        turn = step.conversation.items[-1].turn if step.conversation.items else 0
        failed = self._refused[1] if self._refused[0] == turn else 0
        by_hand = step.cause in {"manual", "tool"}
        model = by_hand or failed < MODEL_SUMMARIES
        if not model and not step.hard:
            return
        summary = SummaryStep(step, keep, focus, model=model)
        await summary.run()
        if summary.refused:
            self._refused = (turn, failed + 1)

    # -- when the provider says so ------------------------------------------------------------------------------------
    async def recover(self, need: Need, cause: Cause, *, counted: int | None = None) -> bool:
        """One attempt to make a refused prompt smaller; whether it is.

        Args:
            need: What the refused request may take, as the provider's word has it.
            cause: ``provider_overflow``, or ``recovery`` where the prompt does not fit by the estimate.
            counted: What the provider counted of the prompt, where it said so.
        """
        conversation = self._conversation()
        way = ways(conversation, need.route)
        if not (way.native or way.text):
            return False
        used = conversation.figures(need.budget, need.prefix, simulated=need.simulated).used
        scale = max(1.0, counted / used) if counted and used else 1.0
        room = min(used * RECOVERED_PERCENT // 100, int(need.budget.prompt / scale))
        step = Pass(conversation, self._ports, need, cause, hard=True, goal=room + 1)
        async with self._running(step):
            await step.begin()
            names = ("native",) if way.mode == "on_demand" else _text_steps(need)["critical"]
            if way.mode == "threshold" and way.native:
                names = ("native", *names)
            await self._ladder(step, names, recovering=min(room, need.budget.critical))
            result = await step.end()
        return result.tokens_after < result.tokens_before

    # -- by hand ------------------------------------------------------------------------------------------------------
    async def compact(
        self, need: Need, *, keep: int = 0, focus: str = "", prune: bool = False, cause: Cause = "manual"
    ) -> Result:
        """Replace the older part by a summary, or leave it out. ``keep`` 0 is the route's default."""
        conversation = self._conversation()
        if self._busy.locked():
            return Result("none", "deferred", BUSY)
        way = ways(conversation, need.route)
        if not (way.text or (way.native and not prune)):
            return Result("none", "unsupported", way.why)
        self._breaker = Breaker()
        step = Pass(conversation, self._ports, need, cause, hard=False, goal=0)
        async with self._running(step):
            if prune:
                await step.trim(prune_room(conversation, step.before.used, keep or PRUNE_KEEP))
                if step.status == "unchanged":
                    step.line = step.line or "there is nothing to leave out: the newest messages stay"
            elif way.native:
                await NativeStep(step, keep or keep_recent(need.budget.window, KEEP_RECENT), focus).run()
            else:
                await self._summarise(step, keep or keep_recent(need.budget.window, KEEP_RECENT), focus)
            return await step.end()

    async def by_hand(self, need: Need, work: Callable[[Pass], Awaitable[None]], cause: Cause = "manual") -> Result:
        """Do one of `context.hands` things."""
        if self._busy.locked():
            return Result("none", "deferred", BUSY)
        step = Pass(self._conversation(), self._ports, need, cause, hard=False, goal=0)
        async with self._running(step):
            await work(step)
            return await step.end()

    async def make_room(self, need: Need) -> Result:
        """Before a switch to a smaller window, whose budget ``need`` names: the route that goes summarises the older
        part, and results shrink where that is not enough.
        """
        conversation = self._conversation()
        if why := ways(conversation, need.route).why:
            return Result("none", "unsupported", why)
        step = Pass(conversation, self._ports, need, "model_switch", hard=False, goal=need.budget.critical)
        async with self._running(step):
            await self._summarise(step, keep_recent(need.budget.window, KEEP_RECENT))
            if not step.enough:
                await step.shrink()
            return await step.end()

    async def undo(self, need: Need) -> Result:
        """Take back the newest cause's operations; refused, with the figures, where the rest would not fit."""
        conversation = self._conversation()
        numbers = conversation.view.undoable
        if not numbers:
            return Result("none", "unchanged", "there is nothing to undo: the context was not changed")
        version = msgspec.structs.replace(conversation.version("undo", ()), takes_back=numbers)
        return await self._go_to(need, version, conversation.without(numbers))

    async def redo(self, need: Need) -> Result:
        """Make what the last undo took back hold again."""
        conversation = self._conversation()
        if not conversation.view.undone:
            return Result("none", "unchanged", "there is nothing to redo")
        numbers = conversation.view.undone[-1]
        version = msgspec.structs.replace(conversation.version("redo", ()), gives_back=numbers)
        return await self._go_to(need, version, conversation.again(numbers))

    async def _go_to(self, need: Need, version: Version, candidate: Candidate) -> Result:
        conversation = self._conversation()
        if self._busy.locked():
            return Result("none", "deferred", BUSY)
        step = Pass(conversation, self._ports, need, version.cause, hard=False, goal=0)
        after = step.figures(candidate)
        if after.used > need.budget.prompt:
            line = f"the context would need about {after.used} tokens and {need.budget.prompt} fit"
            return Result("none", "unsupported", line, tokens_before=step.before.used, tokens_after=after.used)
        self._breaker = Breaker()
        async with self._busy:
            if await step.activate(version, candidate, step.before, after):
                step.status = "changed"
            return await step.end()

    # -- one at a time ------------------------------------------------------------------------------------------------
    def _running(self, step: Pass) -> _Running:
        return _Running(self._busy, step)


class _Running:
    """Holds the lock for a pass, and tells of one that was cut off."""

    def __init__(self, busy: asyncio.Lock, step: Pass) -> None:
        self._busy = busy
        self._step = step

    async def __aenter__(self) -> None:
        await self._busy.acquire()

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is not None:
                cancelled = issubclass(kind, asyncio.CancelledError)
                self._step.status, self._step.error_type = "failed", "cancelled" if cancelled else kind.__name__
                why = "it was interrupted" if cancelled else "it failed"
                self._step.line = f"{why}: what it had done until then stands"
                await self._step.end()
        finally:
            self._busy.release()


def steps_for(way: Ways, need: Need, pressure: Pressure) -> tuple[str, ...]:
    """The steps of the ladder, in order (RUNTIME.md 2.3, 3.1)."""
    if way.mode == "on_demand":
        return ("native",)
    if way.mode == "threshold":
        return THRESHOLD_STEPS if way.native else THRESHOLD_STEPS[1:]
    return _text_steps(need)[pressure]


def _text_steps(need: Need) -> dict[Pressure, tuple[str, ...]]:
    return BOUND_STEPS if need.route.thinking_bound else STEPS


def prune_room(conversation: Conversation, used: int, keep: int) -> int:
    """Tokens into which the newest ``keep`` messages of a prompt of ``used`` tokens fit, and nothing more."""
    sizes = [conversation.size(s.message) for s in conversation.sent if s.seq]
    return used - sum(sizes) + sum(sizes[-keep:])
