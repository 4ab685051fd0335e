"""What a person asks of the context: compact, mask, pin, undo. Each command gets its outcome with what it changed."""

from __future__ import annotations

import asyncio
import logging

from geode_tui.context import hands
from geode_tui.context.upkeep import Result
from geode_tui.context.window import MASK_KEEP_ROUNDS
from geode_tui.core.text import clean_line
from geode_tui.core.usage import usd
from geode_tui.core.views import Version
from geode_tui.log import commands as cmd
from geode_tui.log.writer import Fenced, Tx
from geode_tui.runtime.inbox import Waiting
from geode_tui.runtime.putting_back import put_back
from geode_tui.runtime.recalling import Refused, pin_ref, recall
from geode_tui.runtime.request import RequestPath
from geode_tui.runtime.sending import failed_call
from geode_tui.runtime.session import Session

KEPT_MOST = 1_000
_log = logging.getLogger(__name__)


class ByHand:
    """See the module. Called at a round's boundary, or while the session is at rest."""

    def __init__(self, session: Session, request: RequestPath) -> None:
        self._session = session
        self._request = request

    async def serve(self, waiting: Waiting) -> None:
        """Do what the command asks. Cancelling it ends the command as refused; what it had committed stands."""
        session = self._session
        await session.journal.write(lambda tx: tx.claim(waiting.row.id), durable=True)

        def settle(tx: Tx, version: Version) -> None:
            detail = f"version {version.number}: about {version.tokens_before} tokens became {version.tokens_after}"
            tx.finish(waiting.row, "done", detail)

        self._request.ports.settling = settle
        try:
            if await self._with_a_result(waiting):
                return
            result = await self._result(waiting.body)
        except asyncio.CancelledError:
            await self._refuse(waiting, "interrupted before it was done: nothing was changed")
            raise
        except Fenced:
            raise
        except Refused as refused:
            result = Result("none", "unsupported", str(refused))
        except Exception as error:  # noqa: BLE001 - a defect ends the command, or every worker would take it up again
            _log.exception("the context could not be worked on")
            result = Result("none", "failed", f"internal error: {type(error).__name__}: {clean_line(str(error))}")
        finally:
            self._request.ports.settling = None
        if not result.changed:
            await self._refuse(waiting, result.line or "nothing was changed")

    async def _with_a_result(self, waiting: Waiting) -> bool:
        """Do what is asked of a stored result; false where something else is asked. Raises `Refused`."""
        match waiting.body:
            case cmd.Recall() as wish:
                await recall(self._session, waiting, wish)
            case cmd.PinRef() as wish:
                await pin_ref(self._session, waiting, wish)
            case _:
                return False
        return True

    async def _refuse(self, waiting: Waiting, line: str) -> None:
        """Close the command, and a request that it had open."""
        session, llm = self._session, self._session.open.llm

        def work(tx: Tx) -> None:
            if llm is not None:
                simulated = session.provider.simulated
                tx.event(failed_call(llm, "cancelled", line, None, None, simulated=simulated))
            tx.finish(waiting.row, "refused", line)

        await session.journal.write(work, durable=True)
        session.open.llm = None

    async def _result(self, body: cmd.Command | None) -> Result:
        window, need = self._request.window, self._request.need()
        match body:
            case cmd.Undo():
                return await window.undo(need)
            case cmd.Redo():
                return await window.redo(need)
            case cmd.Mask():
                return await window.by_hand(need, hands.mask(body.seqs, MASK_KEEP_ROUNDS))
            case cmd.Offload():
                return await window.by_hand(need, hands.offload(body.seqs))
            case cmd.Pin():
                return await window.by_hand(need, hands.pin(body.seqs), "pin")
            case cmd.Unpin():
                return await window.by_hand(need, hands.unpin(body.seqs), "pin")
            case cmd.Keep():
                return await put_back(self._session, self._request, body)
            case cmd.Compact():
                if why := self._unpayable(body):
                    return Result("none", "unsupported", why)
                return await window.compact(need, keep=body.keep, focus=body.focus, prune=body.prune)
            case _:
                return Result("none", "unsupported", "this command does not concern the context")

    def _unpayable(self, body: cmd.Compact) -> str:
        """Why a summary must not be asked for, as one line."""
        session = self._session
        if not 0 <= body.keep <= KEPT_MOST:
            return f"the messages to keep are 1 to {KEPT_MOST}, not {body.keep}"
        limit = session.limits.cost_budget_micro
        if not limit or body.prune or self._request.ports.local or session.spent_micro < limit:
            return ""
        spent = f"${usd(session.spent_micro)} of ${usd(limit)}"
        return f"a summary costs money and {spent} are spent: raise the limit (geode-tui budget), or use --prune"
