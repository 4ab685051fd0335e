"""Which route a run takes: settings, credentials, the catalogue and what this machine serves, put together."""

from __future__ import annotations

import sys
import time
from typing import Literal

import msgspec

from geode_tui.cli.config_set import set_setting
from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.core.limits import RunOptions
from geode_tui.core.settings import SettingsError
from geode_tui.providers.access import CODEX_TOKEN, Access, NoProvider, codex_file
from geode_tui.providers.registry import LOCAL_URL, Choice, build, choose, endpoint, heir, is_loopback, missing
from geode_tui.routes.catalog import Catalog, Route
from geode_tui.routes.shape import BadEffort, check_effort
from geode_tui.runtime.opened import OpenedRoute


def access_of(env: Env) -> Access:
    """What may be used to reach providers."""
    return Access(env.environment, env.settings.local_url, env.settings.codex_login)


def chosen(env: Env, provider: str, model: str, effort: str = "") -> Choice:
    """The route for these wishes, each of which may be empty, checked as far as it can be without sending anything.

    A retired model is refused before any credential is read (RUNTIME.md 1.4). Raises `NoProvider`.
    """
    access = access_of(env)
    choice = choose(provider, model, access)
    catalog = Catalog()
    replacement = catalog.replacement(choice.model, choice.provider, choice.source)
    if replacement:
        raise NoProvider(f"{choice.model} is retired on {choice.provider}/{choice.source}: use --model {replacement}")
    try:
        check_effort(catalog.route(choice.model, choice.provider, choice.source), effort)
    except BadEffort as error:
        raise NoProvider(str(error)) from error
    _require(choice, access)
    return choice


def likely(env: Env, provider: str, model: str) -> Choice:
    """As `chosen`, without the catalogue: for a screen's first paint. Raises `NoProvider`."""
    access = access_of(env)
    choice = choose(provider, model, access)
    _require(choice, access)
    return choice


def _require(choice: Choice, access: Access) -> None:
    if lacks := missing(choice.service, access, time.time()):
        raise NoProvider(lacks)


def open_route(env: Env, provider: str, model: str, effort: str, seed: int) -> OpenedRoute:
    """A chosen route, ready to be asked. Blocks while a local model's endpoint is looked for. Raises `NoProvider`."""
    choice, access = chosen(env, provider, model, effort), access_of(env)
    url, discovered = _local(choice, access) if choice.service == "local" else ("", None)
    window = env.settings.context_window or None
    route = Catalog().route(choice.model, choice.provider, choice.source, window=window, discovered=discovered)
    if choice.service == "local" and not is_loopback(url):
        route = msgspec.structs.replace(route, stated_price=None)  # what another machine charges is not known
    diagnosed = _diagnosed(env.settings.cache_diagnosis, route, elsewhere=bool(endpoint(choice.service, access)))
    return OpenedRoute(choice.service, route, build(choice, access, seed=seed, url=url), diagnosed)


def _diagnosed(wanted: Literal["auto", "on", "off"], route: Route, *, elsewhere: bool) -> bool:
    """Whether the route's provider is asked why its cache missed. ``elsewhere``: at an address that a person named."""
    if wanted == "auto":
        return route.explains_cache and not elsewhere
    return wanted == "on" and route.provider in {"anthropic", "openai"} and route.source == "payg"


def switched(env: Env, options: RunOptions, provider: str, model: str, effort: str) -> OpenedRoute:
    """The route that a running session with ``options`` shall go on with. Blocks. Raises `NoProvider`.

    A model that the session's own provider serves too stays with it: from a subscription nothing falls back to a key.
    A provider without a model means its default model.
    """
    if provider:
        return open_route(env, provider, model, effort, options.seed)
    return open_route(env, heir(model, options.provider), model or options.model, effort, options.seed)


def _local(choice: Choice, access: Access) -> tuple[str, int | None]:
    """The endpoint that serves a local model, and the window it reports."""
    from geode_tui.providers.local import candidates, find

    urls = candidates(access.local_url)
    found = find(urls)
    serving = [endpoint for endpoint in found if any(m.id == choice.model for m in endpoint.models)]
    if serving:
        return serving[0].url, serving[0].window_of(choice.model)
    if access.local_url:  # one that lists nothing may serve it all the same
        return urls[0], None
    served = sorted({m.id for endpoint in found for m in endpoint.models})
    has = f"they serve {', '.join(served[:8])}" if served else "none answers on its usual port"
    raise NoProvider(f"no local endpoint serves {choice.model}: {has}. {LOCAL_URL} names one")


def ask_consent(env: Env, provider: str) -> Env:
    """Ask once whether the Codex CLI's login may be read, where a run wants it and a person sits at the terminal.

    Returns the environment with the answer in its settings. Raises `CliError`.
    """
    settings, access = env.settings, access_of(env)
    try:
        wanted = choose(provider or settings.provider, "", access).service == "codex"
    except NoProvider:
        return env
    file = codex_file(access)
    if not wanted or settings.codex_login != "ask" or access.get(CODEX_TOKEN) or not file.is_file():
        return env
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return env
    env.note(f"May runs on the Codex subscription use the login in {file}? It is only read, never changed. [y/N]")
    answer = "yes" if input().strip().lower() in {"y", "yes"} else "no"
    try:
        set_setting(env.folders.settings_file, "codex_login", answer)
    except SettingsError as error:
        raise CliError(str(error)) from error
    env.note(f"noted in {env.folders.settings_file}; geode-tui config set codex_login ask asks again")
    return Env(env.project.root, env.environment, project=env.project)
