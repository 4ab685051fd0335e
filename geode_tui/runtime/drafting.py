"""How a request comes about: the conversation as it is sent, what middleware makes of it, and its gauge.

Steps 1 to 4 of RUNTIME.md 2.1; turns and the calls beside them go the same way.
"""

from __future__ import annotations

import msgspec

from geode_tui.context.prefix import prefix_of
from geode_tui.context.prompt import cache_marks
from geode_tui.context.protect import RECALL
from geode_tui.core.endings import Ending
from geode_tui.core.events import ContextFigures
from geode_tui.core.text import clean_line
from geode_tui.providers.base import Request
from geode_tui.routes.budget import budget_of, planning_reserve
from geode_tui.routes.prices import price_tiers
from geode_tui.routes.shape import MAX_TOKENS, shape
from geode_tui.runtime.caching import cache_key
from geode_tui.runtime.edits import edits_for
from geode_tui.runtime.guards import wrap_up_output
from geode_tui.runtime.middleware import MiddlewareError
from geode_tui.runtime.sending import Draft
from geode_tui.runtime.session import Session, TurnEnd


class Drafting:
    """See the module."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def draft(self, wrap_up: str) -> Draft:
        """The next round's request, before anybody else has seen it. ``wrap_up`` names the limit that makes its answer
        the last, or is empty.
        """
        session = self._session
        wanted = wrap_up_output(MAX_TOKENS, session.route.window) if wrap_up else MAX_TOKENS
        shaped = shape(session.route, wanted, session.options.effort, closing=bool(wrap_up), most=session.output_limit)
        messages = tuple(session.history)
        request = Request(
            model=session.route.model,
            system=session.system,
            messages=messages,
            tools=session.specs,
            tool_choice="none" if wrap_up else "auto",
            max_tokens=shaped.max_tokens,
            thinking=shaped.thinking,
            thinking_budget=shaped.thinking_budget,
            effort=shaped.effort,
            cache_key=cache_key(session.id, session.route, session.system, session.specs),
            cache_messages=cache_marks(messages),
            compare_with=session.cache.compare_with(session.route),
        )
        budget = budget_of(session.route, shaped.reserve)
        request = msgspec.structs.replace(
            request, edits=edits_for(session.route, budget, messages, session.conversation.view)
        )
        prefix = session.prefix
        context = session.meter.figures(session.route, budget, prefix, simulated=session.provider.simulated)
        return Draft(request, self._with_tiers(context), prefix, wrap_up)

    def _with_tiers(self, context: ContextFigures) -> ContextFigures:
        session = self._session
        return msgspec.structs.replace(context, price_tiers=price_tiers(session.route, session.clock.now()))

    async def through_middleware(self, draft: Draft) -> Draft:
        """``draft`` as the middleware leaves it, with the tools that are allowed, measured again where it changed.

        Raises `TurnEnd` where a middleware failed or asks for what this session is not.
        """
        session, given = self._session, draft.request
        try:
            request, invocations = await session.middleware.llm_request(given)
        except MiddlewareError as error:
            await session.audit(error.invocations)
            raise TurnEnd(Ending.MODEL_ACTION_REQUIRED, f"the request was not sent: {error}") from None
        await session.audit(invocations)
        if request == given:
            return draft
        if request.model != given.model:
            raise TurnEnd(
                Ending.MODEL_ACTION_REQUIRED,
                f"the request was not sent: a middleware asked for {clean_line(request.model, 60)} in place of"
                f" {given.model}; choose a model with /model",
            )
        allowed = {spec.name for spec in given.tools}
        tools = tuple(tool for tool in request.tools if tool.name in allowed)
        original = draft.original and request.messages == given.messages
        request = msgspec.structs.replace(
            request, tools=tools, cache_messages=given.cache_messages if original else cache_marks(request.messages)
        )
        return self.measured(msgspec.structs.replace(draft, request=request, original=original))

    def measured(self, draft: Draft) -> Draft:
        """``draft`` with the gauge of exactly what it carries, and the edits that follow from its budget."""
        session, request = self._session, draft.request
        reserve = request.max_tokens if session.route.sends_output else planning_reserve(session.route.window)
        budget = budget_of(session.route, reserve)
        own = request.system == session.system and request.tools == session.specs
        counter = session.meter.counter
        prefix = session.prefix if own else prefix_of((p.text for p in request.system), request.tools, counter)
        meter = session.meter
        if not draft.original:
            meter = meter.copy()
            meter.retake(request.messages)
        context = meter.figures(session.route, budget, prefix, simulated=session.provider.simulated)
        if request.purpose == "turn":
            edits = edits_for(session.route, budget, request.messages, session.conversation.view)
            request = msgspec.structs.replace(request, edits=edits)
        return msgspec.structs.replace(draft, request=request, context=self._with_tiers(context), prefix=prefix)

    def refreshed(self, draft: Draft) -> Draft:
        """``draft`` with the conversation and the route as they stand now, in everything else as it was."""
        session, request = self._session, draft.request
        messages = tuple(session.history)
        if messages == request.messages and session.route.window == draft.context.window:
            return draft
        known = {tool.name for tool in request.tools}
        recall = tuple(spec for spec in session.specs if spec.name == RECALL and RECALL not in known and known)
        request = msgspec.structs.replace(
            request, messages=messages, cache_messages=cache_marks(messages), tools=(*request.tools, *recall)
        )
        if session.route.window != draft.context.window:
            answer = request.max_tokens - request.thinking_budget
            closing = bool(draft.wrap_up)
            made = shape(session.route, answer, session.options.effort, closing=closing, most=session.output_limit)
            request = msgspec.structs.replace(
                request, max_tokens=made.max_tokens, thinking=made.thinking, thinking_budget=made.thinking_budget
            )
        return self.measured(msgspec.structs.replace(draft, request=request))

    def with_output(self, draft: Draft, most: int) -> Draft:
        """``draft`` with an answer of at most ``most`` tokens; the next request asks for what its route takes again."""
        made = shape(self._session.route, most, self._session.options.effort, closing=bool(draft.wrap_up), most=most)
        request = msgspec.structs.replace(
            draft.request, max_tokens=made.max_tokens, thinking=made.thinking, thinking_budget=made.thinking_budget
        )
        return self.measured(msgspec.structs.replace(draft, request=request))
