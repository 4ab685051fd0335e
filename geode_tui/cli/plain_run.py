"""One run told in lines, and steered by what is typed: the words, commands and answers that the screen takes."""

from __future__ import annotations

import os
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from geode_tui.cli.env import Env
from geode_tui.log.rows import MessageRow
from geode_tui.tui.arguments import readable
from geode_tui.tui.keys import letter
from geode_tui.tui.slash import COMMANDS, WINDOW_KINDS, Local, Order, Wrong, parse
from geode_tui.tui.source import RunSource, SourceError
from geode_tui.view import spoken
from geode_tui.view.cost import cost_lines
from geode_tui.view.follow import Added, Batch, Chunks, Completed, Index, Op
from geode_tui.view.gauge import context_lines
from geode_tui.view.state import OpenApproval

ESC = "\x1b"
EARLIER = 12
"""Messages of before that are told when a run is opened."""
REMEMBERED = 1_000
"""Messages that are known to have been told: one is told once, when it is whole."""
SETTLE_S = 0.5
"""An answer that was typed before the question could be read is not taken."""
NOT_HERE = frozenset({"theme", "language", "middle", "zoom", "fork", "offloads"})
"""Commands about what is shown on a screen."""
KEYS = {alias: key for key in spoken.CHOICES for alias in letter(key).split(",")}


class _Heard(Protocol):
    @property
    def lines(self) -> tuple[str, ...]: ...
    @property
    def interrupted(self) -> bool: ...
    @property
    def ended(self) -> bool: ...


class PlainRun:
    """See the module. ``tell`` prints a line, made inert."""

    def __init__(
        self, env: Env, source: RunSource, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._strings = env.strings
        self._redact = env.redact
        self._source = source
        self._tell = tell
        self._clock = clock
        self._now: spoken.Moment | None = None
        self._batch: Batch | None = None
        self._told: deque[int] = deque(maxlen=REMEMBERED)
        self._sent: dict[str, str] = {}
        self._question: OpenApproval | None = None
        self._asked_at = 0.0
        self._asking_why = False
        self._left = False

    def serve(self, wake: Callable[[], None], wait: Callable[[], _Heard], first: str = "") -> int:
        """Follow the run until the person leaves; ``first`` is said at once. Returns the exit status."""
        feed = self._source.follower(wake)
        feed.start()
        try:
            if first:
                self._send("submit", {"text": first, "later": False})
                feed.nudge()
            while not self._left:
                heard = wait()
                self.show(feed.take())
                for line in heard.lines:
                    self.hear(line)
                    feed.nudge()
                if heard.interrupted:
                    self._interrupt()
                if heard.ended:
                    break
        finally:
            feed.stop()
        if self._batch is not None and self._batch.liveness.state != "free":
            self._say("leave.goes_on", session=self._source.session_id)
        return os.EX_OK

    # -- telling ------------------------------------------------------------------------------------------------------
    def show(self, batch: Batch) -> None:
        """Tell what is new in ``batch``."""
        before, self._batch = self._now, batch
        self._now = spoken.moment(batch, self._source.clock())
        for op in batch.ops:
            self._show_op(op)
        if before is None:
            if batch.state.events:
                self._lines(spoken.opening(self._now, self._strings))
            self._how()
        else:
            self._lines(spoken.changes(before, self._now, self._strings))
        self._settle(batch)
        self._ask()

    def _show_op(self, op: Op) -> None:
        match op:
            case Index(rows):
                whole = [row for row in rows if row.status != "open" and row.id not in self._told]
                if len(whole) > EARLIER:
                    self._say("plain.earlier", n=len(whole) - EARLIER)
                    self._told.extend(row.id for row in whole[:-EARLIER])
                for row in whole[-EARLIER:]:
                    self._message(row)
            case Added(row) | Completed(row):
                self._message(row)
            case Chunks():
                return  # a message is told when it is whole

    def _message(self, row: MessageRow) -> None:
        if row.status == "open" or row.id in self._told:
            return
        self._told.append(row.id)
        try:
            self._lines(spoken.message_lines(self._source.load(row.id), self._strings))
        except SourceError as error:
            self._tell(str(error))

    def _settle(self, batch: Batch) -> None:
        """Say what became of what was asked for; what was done shows by itself."""
        for outcome in batch.state.outcomes:
            kind = self._sent.pop(outcome.key, "")
            if kind and outcome.outcome != "done":
                word = self._strings.t(f"outcome.{outcome.outcome}", kind=self._strings.t(f"command.{kind}"))
                self._tell(f"{word} {outcome.detail}")

    # -- questions ----------------------------------------------------------------------------------------------------
    def _waiting(self) -> tuple[OpenApproval, ...]:
        """Questions that an answer would still reach, oldest first."""
        if self._batch is None or self._batch.liveness.state == "free":
            return ()
        return tuple(self._batch.state.approvals.values())

    def _ask(self) -> None:
        """Put the oldest question, once."""
        waiting = self._waiting()
        oldest = waiting[0] if waiting else None
        known = self._question.approval_id if self._question else ""
        if oldest is not None and oldest.approval_id != known:
            self._question = oldest
            self._put(oldest)
        elif oldest is None:
            self._question, self._asking_why = None, False

    def _put(self, approval: OpenApproval, *, whole: bool = False) -> None:
        try:
            arguments = readable(self._redact(self._source.arguments(approval.call_id)))
        except SourceError as error:
            arguments = self._strings.t("approve.unread", why=str(error))
        place = (1, len(self._waiting()))
        self._lines(spoken.question_lines(approval, place, arguments, self._strings, whole=whole))
        self._asked_at = self._clock()

    def _answer(self, key: str, approval: OpenApproval) -> None:
        if self._clock() - self._asked_at < SETTLE_S:
            self._say("plain.too_soon")
            return
        self._say("plain.chosen", choice=spoken.choice_text(key, approval, self._strings))
        if key == "v":
            self._put(approval, whole=True)
        elif key == "r":
            self._asking_why = True
            self._say("plain.why")
        else:
            self._decide(approval, "deny" if key == "n" else "allow", always=key == "a")

    def _decide(self, approval: OpenApproval, verdict: str, *, always: bool = False, why: str = "") -> None:
        self._asking_why = False
        payload = {"approval_id": approval.approval_id, "verdict": verdict, "always": always, "why": why}
        if self._send("decide", payload):
            self._say("approve.sent")

    # -- hearing ------------------------------------------------------------------------------------------------------
    def hear(self, typed: str) -> None:
        """Do what a line asks for."""
        text = typed.strip(" \t\r")
        if text and not text.strip(ESC):
            self._escape(len(text))
        elif self._asking_why and self._question is not None:
            self._decide(self._question, "deny", why=text)
        elif not text:
            self._enter()
        elif text in KEYS:
            if self._question is None:
                self._say("slash.nothing_waits")
            else:
                self._answer(KEYS[text], self._question)
        else:
            self._command(text)

    def _escape(self, times: int) -> None:
        if self._asking_why and self._question is not None:
            self._asking_why = False
            self._put(self._question)
        elif times > 1:
            self._interrupt()
        else:
            self._say("esc.armed")

    def _interrupt(self) -> None:
        if self._now is None or not self._now.state.turn_open:
            self._say("plain.leave")
        elif self._send("interrupt", {}):
            self._say("state.interrupting")

    def _enter(self) -> None:
        """Enter alone resumes what can be resumed; else it says where things stand."""
        if self._now is None or self._batch is None:
            return
        if self._question is not None:
            self._put(self._question)
        elif self._now.status.resumable and not self._batch.pending:
            if self._send("resume", {}):
                self._say("state.starting")
        else:
            self._lines(spoken.opening(self._now, self._strings))

    def _command(self, text: str) -> None:
        parsed = parse(text)
        if isinstance(parsed, Wrong):
            self._say(parsed.key, **parsed.values)
        elif isinstance(parsed, Local):
            self._local(parsed)
        else:
            self._order(parsed)

    def _order(self, order: Order) -> None:
        running = self._now is not None and self._now.state.turn_open
        if order.kind == "interrupt":
            self._interrupt()
        elif not self._send(order.kind, order.payload):
            return
        elif order.kind == "submit":
            self._say("composer.queued" if running else "composer.starting")
        elif running and order.kind in WINDOW_KINDS:
            self._say("outcome.next_round", kind=self._strings.t(f"command.{order.kind}"))

    def _local(self, local: Local) -> None:
        if local.name == "quit":
            self._left = True
        elif local.name == "help":
            self._help()
        elif local.name in {"approve", "deny"}:
            if self._question is None:
                self._say("slash.nothing_waits")
            else:
                self._decide(self._question, "allow" if local.name == "approve" else "deny", why=local.value)
        elif local == Local("context", "tiers"):
            self._tiers()
        elif local.name in {"status", "context", "cost"} and self._now is not None:
            self._lines(self._report(local.name, self._now))
        elif local.name == "model":
            models = self._source.models()
            self._lines([f"{m.model}  {m.route}" if m.model else f"{m.service}: {m.why}" for m in models])
        else:
            self._say("plain.not_here", name=local.name)

    def _report(self, name: str, now: spoken.Moment) -> Sequence[str]:
        if name == "status":
            return spoken.opening(now, self._strings)
        pairs = (cost_lines if name == "cost" else context_lines)(now.state, self._strings)
        return _in_lines(pairs)

    def _tiers(self) -> None:
        try:
            self._lines(_in_lines(self._source.tiers(self._strings)))
        except SourceError as error:
            self._tell(str(error))

    def _how(self) -> None:
        self._say("plain.how")
        self._say("plain.how_stop")

    def _help(self) -> None:
        self._how()
        for name in COMMANDS:
            if name not in NOT_HERE:
                self._tell(f"/{name}  {self._strings.t(f'slash.help_{name}')}")

    # -- out ----------------------------------------------------------------------------------------------------------
    def _send(self, kind: str, payload: Mapping[str, Any]) -> bool:
        """Write a command; False where it could not be written, which is told."""
        key = uuid.uuid4().hex
        self._sent[key] = kind
        try:
            self._source.send(kind, payload, key)
        except SourceError as error:
            del self._sent[key]
            self._tell(str(error))
            return False
        return True

    def _say(self, key: str, **values: object) -> None:
        self._tell(self._strings.t(key, **values))

    def _lines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._tell(line)


def _in_lines(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{left}  {right}" if left and right else left or right for left, right in pairs]
