"""The estimate where its anchor has to stand for something else: a masked history, another model, another worker.

A real worker talks to the lab over two wires. Files, Korean prose and JSON come back from its tools for a few turns;
then the session is taken up by a new worker that knows only the log, goes on with a model on the other wire, comes
back, and has its old results masked through the meter's own way. Compared is what the gauge showed when a request went
out with what the lab counted of it. The lab counts four bytes a token, which no vocabulary does, so the ratios that the
meter learns on the way are part of what is measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, TypeAlias

import msgspec

from geode_tui.context.conversation import Conversation
from geode_tui.context.protect import result_of
from geode_tui.core.tokens import TokenCounter
from geode_tui.core.views import Mask, Stub
from geode_tui.log import commands as cmd
from geode_tui.routes.catalog import Catalog
from geode_tui.runtime.opened import OpenedRoute
from geode_tui.runtime.session import Session
from geode_tui.runtime.tools.base import ToolOutcome
from tests.bench.figures import median
from tests.lab import Call, Lab, Say, ScriptStep
from tests.providers.wires import ANTHROPIC, CHAT, CODEX, RESPONSES, Route, adapter
from tests.runtime.harness import Bench, Event, StubTool, bench, toolbox

Case: TypeAlias = Literal["appended", "resumed", "switched", "returned", "masked", "after masking"]
TURNS, LOOKS = 3, 4
"""Before anything is changed, and calls in each."""
_LOOK = (Say("다음 파일을 봅니다."), Call("look"))
_CHANGES: dict[Case, int] = {"resumed": 0, "switched": 2, "returned": 4, "masked": 5, "after masking": 6}
"""Which request of the last turn is the first after each change."""
KEPT_RESULTS = 3
"""The newest results, which masking leaves as they are (RUNTIME.md 3.4)."""
PAIRS = ((ANTHROPIC, RESPONSES), (RESPONSES, ANTHROPIC), (CODEX, CHAT), (CHAT, CODEX))
"""The wire a run begins on, and the one it is switched to."""
CATALOG = Catalog()
_WORDS = (
    "압축", "문맥", "도구", "결과", "예산", "토큰", "세션", "모델", "요청", "응답", "파일", "경고", "한계", "비용",
)  # fmt: skip


class LabError(msgspec.Struct, frozen=True):
    """One request: tokens as shown when it went out and as the lab counted them. Of ``appended``, the median one."""

    counter: str
    wire: str
    case: Case
    estimated: int
    counted: int
    error_percent: float


def lab_errors(counter: TokenCounter, pairs: Sequence[tuple[Route, Route]] = PAIRS) -> list[LabError]:
    """The errors of each pair of wires, in the order in which a run meets them."""
    return [error for pair in pairs for error in asyncio.run(_pair(counter, *pair))]


async def _pair(counter: TokenCounter, first: Route, second: Route) -> list[LabError]:
    async with _started(counter, first, second) as run:
        appended = [error for _ in range(TURNS) for error in await run.turn([_LOOK] * LOOKS)][1:]
        middle = median([abs(error.error_percent) for error in appended])
        made = [next(error for error in appended if abs(error.error_percent) == middle)]
        changed = await run.turn([_LOOK, Call("switch"), _LOOK, Call("switch"), Call("mask"), _LOOK])
        return made + [_named(case, changed[request]) for case, request in _CHANGES.items()]


def _named(case: Case, error: LabError) -> LabError:
    return msgspec.structs.replace(error, case=case)


@contextlib.asynccontextmanager
async def _started(counter: TokenCounter, first: Route, second: Route) -> AsyncIterator[_Run]:
    async with Lab() as lab, adapter(lab, first) as own, adapter(lab, second) as other:
        with bench(own, model=first.model) as run:
            opened = {
                route.model: OpenedRoute("", CATALOG.route(route.model, provider.name, provider.source), provider)
                for route, provider in ((first, own), (second, other))
            }
            yield _Run(counter, lab, run, (first, second), opened)


class _Run:
    """One session. Every turn is a worker of its own, which takes the conversation and its anchors from the log."""

    def __init__(
        self,
        counter: TokenCounter,
        lab: Lab,
        run: Bench,
        routes: tuple[Route, Route],
        opened: Mapping[str, OpenedRoute],
    ) -> None:
        self._counter = counter
        self._lab = lab
        self._bench = run
        self._material = _material()
        self._names = {route.model: route.name for route in routes}
        self._others = itertools.cycle(route.model for route in reversed(routes))

        async def opener(_service: str, model: str, _effort: str) -> OpenedRoute:
            return opened[model]

        run.opener = opener
        run.tools |= toolbox(*(StubTool(e.__name__.strip("_"), e) for e in (self._look, self._switch, self._mask)))

    async def _look(self, _arguments: str) -> ToolOutcome:
        return ToolOutcome(next(self._material))

    async def _switch(self, _arguments: str) -> ToolOutcome:
        self._bench.send(cmd.Model(next(self._others), "", ""))
        return ToolOutcome("the next round has another model")

    async def _mask(self, _arguments: str) -> ToolOutcome:
        assert self._bench.session is not None
        return ToolOutcome(f"{mask_old_results(self._bench.session)} results masked")

    async def turn(self, steps: Sequence[ScriptStep]) -> list[LabError]:
        """A turn of a new worker; its requests in order."""
        self._lab.script(*steps, Say("Done. 이제 끝났습니다."))
        run = self._bench
        before = run.last_event
        run.submit("look at the next files, 부탁합니다")
        async with run.worker() as worker:
            worker.session.conversation = Conversation(worker.session.route, self._counter)
            await worker.run()
        return list(self._errors(run.events("llm_call_started", "llm_call_ended", after=before)))

    def _errors(self, calls: Sequence[Event]) -> Iterator[LabError]:
        for (_, asked), (_, ended) in zip(calls[::2], calls[1::2], strict=True):
            shown, counted = asked["context"]["used"], ended["context"]["used"]
            error = round(100 * (shown - counted) / counted, 2)
            yield LabError(
                self._counter.vocabulary or "script", self._names[asked["model"]], "appended", shown, counted, error
            )


def mask_old_results(session: Session) -> int:
    """Replace all but the newest results by a line each, as another version of the view; returns how many."""
    talk = session.conversation
    old = [i for i in talk.items if i.message.role == "tool" and i.seq not in talk.view.stubs][:-KEPT_RESULTS]
    mask = Mask(tuple(Stub(i.seq, f"[masked: {len(result.text)} characters]") for i in old if (result := result_of(i))))
    talk.take(talk.version("warning", [mask]))
    return len(old)


def _material() -> Iterator[str]:
    """What the tools read: source, Korean prose and JSON in turn, 2 to 12 KB each."""
    dice = Random(7)
    while True:
        size = dice.randint(40, 200)
        yield "\n".join(
            f"def part_{n}(value: int) -> int:\n    return value + {dice.randint(1, 999)}" for n in range(size)
        )
        yield ". ".join(" ".join(dice.choices(_WORDS, k=9)) for _ in range(size))
        yield json.dumps([_record(dice, n) for n in range(size // 2)], ensure_ascii=False)


def _record(dice: Random, number: int) -> dict[str, Any]:
    return {"id": number, "state": dice.choice(_WORDS), "tokens": dice.randint(0, 200_000), "ok": dice.random() < 0.9}


def as_lines(errors: Sequence[LabError]) -> str:
    """The errors for a person."""
    head = f"{'counter':<12} {'wire':<10} {'case':<13} {'shown':>9} {'counted':>9} {'error %':>8}"
    return "\n".join(
        [
            head,
            *(
                f"{e.counter:<12} {e.wire:<10} {e.case:<13} {e.estimated:>9,} {e.counted:>9,} {e.error_percent:>+8.2f}"
                for e in errors
            ),
        ]
    )
