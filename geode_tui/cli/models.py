"""What can be asked and with which models: one list for the home screen, the model picker and `doctor`."""

from __future__ import annotations

import time
from collections.abc import Iterator

from geode_tui.cli.env import Env
from geode_tui.cli.routing import access_of
from geode_tui.providers.ready import Ready, readiness
from geode_tui.routes.budget import budget_of
from geode_tui.routes.catalog import OPENROUTER, Catalog, Route
from geode_tui.routes.shape import MAX_TOKENS, shape
from geode_tui.tui.source import ModelChoice


def known(env: Env) -> tuple[Ready, ...]:
    """What is ready, without asking anything on this machine or elsewhere."""
    return readiness(access_of(env), time.time())


def looked_at(env: Env) -> tuple[Ready, ...]:
    """What is ready, local endpoints included: blocks for as long as they may take to answer."""
    from geode_tui.providers.local import candidates, find

    access = access_of(env)
    return readiness(access, time.time(), find(candidates(access.local_url)))


def offered(env: Env) -> tuple[ModelChoice, ...]:
    """Every model that can be chosen, and what the other services need. Blocks like `looked_at`."""
    return tuple(choice for ready in looked_at(env) for choice in _choices(env, Catalog(), ready))


def _choices(env: Env, catalog: Catalog, ready: Ready) -> Iterator[ModelChoice]:
    name = f"{ready.provider}/{ready.source}"
    if not ready.ok:
        yield ModelChoice(ready.service, name, lacks=ready.lacks, why=ready.why)
        return
    windows = dict(ready.models)
    for listed in windows or catalog.models(ready.provider, ready.source):
        model = f"{OPENROUTER}/{listed}" if ready.provider == OPENROUTER else listed
        window = env.settings.context_window or None
        route = catalog.route(model, ready.provider, ready.source, window=window, discovered=windows.get(listed))
        yield _choice(ready.service, name, model, route)


def _choice(service: str, name: str, model: str, route: Route) -> ModelChoice:
    budget = budget_of(route, shape(route, MAX_TOKENS).reserve)
    return ModelChoice(service, name, model, route.window, route.provenance, budget.prompt, budget.warning)
