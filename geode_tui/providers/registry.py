"""Which provider answers: by flag, setting or model name, else what has a key, else offline. The only place that knows
which adapter a route has.
"""

from __future__ import annotations

import ipaddress
import time
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from geode_tui.providers.access import Access, NoProvider, codex_login
from geode_tui.providers.base import Provider

__all__ = ["Access", "Choice", "NoProvider", "Service", "build", "choose", "endpoint", "heir", "is_loopback", "missing"]

ANTHROPIC_KEY, ANTHROPIC_URL = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
LOCAL_URL = "GEODE_LOCAL_URL"
CODEX_URL = "GEODE_CODEX_URL"
OFFLINE_PACE_S = 0.01
"""Pause between the pieces of an offline answer: it streams, so that everything a stream exercises is exercised."""


class Service(msgspec.Struct, frozen=True):
    """A provider that a person can name. ``keys`` are the variables of which one must be set, ``urls`` those that name
    another server; ``base`` is its own.
    """

    name: str
    provider: str
    source: Literal["payg", "subscription", "adapter"]
    model: str = ""
    keys: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    base: str = ""


SERVICES = {
    s.name: s
    for s in (
        Service("anthropic", "anthropic", "payg", "claude-opus-5-5", (ANTHROPIC_KEY,), (ANTHROPIC_URL,)),
        Service("openai", "openai", "payg", "gpt-6-sol", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",)),
        Service("codex", "openai", "subscription", "gpt-6-sol", (), (CODEX_URL,)),
        Service(
            "openrouter",
            "openrouter",
            "payg",
            keys=("OPENROUTER_API_KEY",),
            urls=("OPENROUTER_BASE_URL",),
            base="https://openrouter.ai/api/v1",
        ),
        Service(
            "glm",
            "glm",
            "payg",
            "glm-5.3",
            ("ZAI_API_KEY", "GLM_API_KEY"),
            ("ZAI_BASE_URL", "GLM_BASE_URL"),
            "https://api.z.ai/api/paas/v4",
        ),
        Service("local", "local", "adapter"),
        Service("offline", "offline", "adapter", "offline-planner"),
    )
}
"""By name, in the order in which a person meets them. Defaults of RUNTIME.md 1.5."""

ALIASES = {
    "openai-codex": "codex", "codex-oauth": "codex", "openai-payg": "openai", "anthropic-payg": "anthropic",
    "openrouter-payg": "openrouter", "glm-payg": "glm", "zhipuai": "glm", "zai": "glm",
}  # fmt: skip
REFUSED = {
    "glm-coding": "the GLM coding plan may not be used by other programs: use --provider glm with a key",
    "glm-coding-plan": "the GLM coding plan may not be used by other programs: use --provider glm with a key",
    "anthropic-oauth": "a Claude subscription may not be used by other programs: use --provider anthropic with a key",
    "claude-cli": "a Claude subscription may not be used by other programs: use --provider anthropic with a key",
}
_PREFIXES = {
    "claude-": "anthropic", "gpt-": "openai", "o3": "openai", "o4": "openai", "codex-": "openai", "glm-": "glm",
    "openrouter/": "openrouter", "local/": "local", "offline-": "offline",
}  # fmt: skip
_FALLBACK = ("anthropic", "openai", "glm")
"""Services with a default model, asked in this order whether their key is set. A subscription is only ever chosen."""


class Choice(msgspec.Struct, frozen=True):
    """A chosen route. ``service`` is the name under which it was chosen: the one to choose it by again."""

    provider: str
    model: str
    source: str
    service: str = ""


def choose(provider: str, model: str, access: Access) -> Choice:
    """The route for ``provider`` and ``model``, either of which may be empty. Reads no credential of a named route.

    A chosen subscription stays chosen whatever is missing for it (`missing`). Raises `NoProvider`.
    """
    service = _service(provider, model, access)
    if service.name == "offline" and model not in {"", service.model}:
        raise NoProvider(f"the offline provider has no model {model!r}; it has {service.model}")
    wanted = model or service.model
    if service.name == "local":
        wanted = wanted.removeprefix("local/")
    if not wanted:
        raise NoProvider(f"the provider {service.name} needs a model: name one with --model (geode-tui doctor)")
    if service.name == "openrouter" and not wanted.startswith("openrouter/"):
        wanted = f"openrouter/{wanted}"
    return Choice(service.provider, wanted, service.source, service.name)


def _service(provider: str, model: str, access: Access) -> Service:
    name = ALIASES.get(provider, provider)
    if name in REFUSED:
        raise NoProvider(REFUSED[name])
    if name:
        if name not in SERVICES:
            raise NoProvider(f"there is no provider {provider!r}: choose one of {', '.join(sorted(SERVICES))}")
        return SERVICES[name]
    if model:
        found = _served(model)
        if found is None:
            raise NoProvider(f"no provider is known for the model {model!r}: name one with --provider")
        return found
    ready = next((s for s in _FALLBACK if access.get(*SERVICES[s].keys)), "offline")
    return SERVICES[ready]


def heir(model: str, service: str) -> str:
    """The service for ``model`` where ``service`` was chosen before: the same where it may serve it too."""
    before, found = SERVICES.get(ALIASES.get(service, service)), _served(model)
    if before is None or found is None or found.provider == before.provider:
        return service
    return found.name


def _served(model: str) -> Service | None:
    """Who serves a model by its name; None where the name does not say: a tag or open weights mean an own endpoint."""
    found = next((SERVICES[name] for prefix, name in _PREFIXES.items() if model.startswith(prefix)), None)
    if found is not None and found.source == "payg" and found.name != "openrouter":
        return None if ":" in model or model.startswith("gpt-oss") else found
    return found


def missing(service: str, access: Access, now: float) -> str:
    """What a service lacks, as one line; empty when it can be asked. Sends nothing. ``now`` in epoch seconds."""
    needs = SERVICES[service]
    if needs.keys and not access.get(*needs.keys):
        keys = " or ".join(needs.keys)
        return f"the provider {service} needs a key in {keys}; --provider offline needs none"
    if service == "codex":
        try:
            codex_login(access, now)
        except NoProvider as error:
            return str(error)
    return ""


def endpoint(service: str, access: Access) -> str:
    """The URL that the person named for a service; empty for its own."""
    return access.local_url if service == "local" else access.get(*SERVICES[service].urls)


def build(choice: Choice, access: Access, *, seed: int = 0, url: str = "", now: float | None = None) -> Provider:
    """The adapter of a chosen route. Imports no SDK: that happens when a request is sent.

    ``url`` is where a local model is served. Raises `NoProvider` where something is `missing`.
    """
    service = SERVICES[choice.service]
    when = time.time() if now is None else now
    if lacks := missing(service.name, access, when):
        raise NoProvider(lacks)
    if service.name == "offline":
        from geode_tui.providers.offline import OfflineProvider

        return OfflineProvider(seed=seed, pace_s=OFFLINE_PACE_S)
    named = url or endpoint(service.name, access)
    provider = _adapter(service, access, named, when)
    provider.simulated = service.name != "local" and bool(named) and is_loopback(named)
    return provider


def _adapter(service: Service, access: Access, url: str, now: float) -> Provider:
    key = access.get(*service.keys)
    match service.name:
        case "anthropic":
            from geode_tui.providers.anthropic import AnthropicProvider

            return AnthropicProvider(key, url or None)
        case "openai":
            from geode_tui.providers.openai_responses import ResponsesProvider

            return ResponsesProvider(key, url or None)
        case "codex":
            from geode_tui.providers.openai_responses import Codex, ResponsesProvider

            login = codex_login(access, now)
            return ResponsesProvider(login.token, url or None, codex=Codex(login.account))
    if not url and not service.base:
        raise NoProvider(f"no endpoint is known for local models: name one in {LOCAL_URL} or the setting local_url")
    from geode_tui.providers.openai_chat import ChatProvider

    return ChatProvider(service.provider, key or "none", url or service.base, source=service.source)


def is_loopback(url: str) -> bool:
    """Whether ``url`` points at this machine: money spent there is not real."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:  # brackets that hold no address
        return False
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
