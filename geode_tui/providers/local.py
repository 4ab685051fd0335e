"""What endpoints on this machine serve, asked over plain HTTP: no SDK, so that a screen may ask too.

A window is taken only where the server says how much it really loads: how a model was trained is not it.
"""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import msgspec

from geode_tui.providers.registry import is_loopback

PORTS = {"ollama": 11434, "vllm": 8000, "llama.cpp": 8080, "lm-studio": 1234}
"""Where the usual servers listen unless told otherwise."""
TIMEOUT_S = 0.5
"""A server on this machine answers its model list in milliseconds, or is busy loading a model."""
MAX_BYTES = 4_000_000
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d+)", re.MULTILINE)

Fetch: TypeAlias = Callable[[str, Mapping[str, Any] | None], Any]
"""Decoded JSON of a path below the server's root, None where there is none; with a body it is a POST."""


class LocalModel(msgspec.Struct, frozen=True):
    """A model that an endpoint serves. ``window`` in tokens, None where the endpoint does not say."""

    id: str
    window: int | None = None


class Endpoint(msgspec.Struct, frozen=True):
    """An OpenAI-compatible endpoint that answered. ``url`` is its base URL, ending in ``/v1`` where that is usual."""

    url: str
    models: tuple[LocalModel, ...]

    def window_of(self, model: str) -> int | None:
        """The window of ``model``; None where it is not served or not known."""
        return next((m.window for m in self.models if m.id == model), None)


def candidates(local_url: str = "") -> tuple[str, ...]:
    """Base URLs to ask: the one that the person named, else the usual ports of this machine."""
    if local_url:
        return (local_url.rstrip("/"),)
    return tuple(f"http://127.0.0.1:{port}/v1" for port in PORTS.values())


def find(urls: tuple[str, ...], timeout_s: float = TIMEOUT_S) -> tuple[Endpoint, ...]:
    """The endpoints that answer, in the order of ``urls``; all are asked at once. Blocks; raises nothing."""
    if not urls:
        return ()
    with ThreadPoolExecutor(len(urls)) as threads:
        found = threads.map(lambda url: ask(url, timeout_s), urls)
        return tuple(endpoint for endpoint in found if endpoint is not None)


def ask(url: str, timeout_s: float = TIMEOUT_S) -> Endpoint | None:
    """What the endpoint at ``url`` serves; None where none answers. Blocks; raises nothing."""
    listed = _get(f"{url}/models", None, timeout_s)
    if not isinstance(listed, dict) or not isinstance(listed.get("data"), list):
        return None
    parts = urlsplit(url)
    root = urlunsplit((parts.scheme, parts.netloc, "", "", ""))

    def fetch(path: str, body: Mapping[str, Any] | None) -> Any:
        return _get(f"{root}{path}", body, timeout_s)

    return Endpoint(url, windows(listed, fetch if is_loopback(url) else lambda _path, _body: None))


def windows(listed: Mapping[str, Any], fetch: Fetch) -> tuple[LocalModel, ...]:
    """The models of a ``/v1/models`` answer with their windows, looked for where each server has them."""
    entries = [e for e in listed["data"] if isinstance(e, dict) and isinstance(e.get("id"), str)]
    known = {e["id"]: _listed(e) for e in entries}
    if any(window is None for window in known.values()):
        for look in (_ollama, _lm_studio, _llama_cpp):
            more = look(entries, fetch)
            if more:
                known = {name: window or more.get(name) for name, window in known.items()}
                break
    return tuple(LocalModel(name, window) for name, window in known.items())


def _listed(entry: Mapping[str, Any]) -> int | None:
    """VLLM says ``max_model_len``, newer llama.cpp ``meta.n_ctx``, some gateways ``context_length``."""
    meta = entry.get("meta")
    running = meta.get("n_ctx") if isinstance(meta, dict) else None
    return _size(entry.get("max_model_len")) or _size(running) or _size(entry.get("loaded_context_length"))


def _ollama(entries: list[dict[str, Any]], fetch: Fetch) -> dict[str, int]:
    """What is loaded says its window; for the rest only a size that was set in the model itself counts."""
    running = fetch("/api/ps", None)
    if not isinstance(running, dict) or not isinstance(running.get("models"), list):
        return {}
    loaded = [m for m in running["models"] if isinstance(m, dict)]
    found = {str(m.get("model") or m.get("name")): size for m in loaded if (size := _size(m.get("context_length")))}
    for name in [e["id"] for e in entries if e["id"] not in found][:8]:
        shown = fetch("/api/show", {"model": name})
        text = shown.get("parameters") if isinstance(shown, dict) else None
        if isinstance(text, str) and (match := _NUM_CTX.search(text)):
            found[name] = int(match[1])
    return found


def _lm_studio(_entries: list[dict[str, Any]], fetch: Fetch) -> dict[str, int]:
    shown = fetch("/api/v0/models", None)
    data = shown.get("data") if isinstance(shown, dict) else None
    models = [m for m in data if isinstance(m, dict)] if isinstance(data, list) else []
    return {str(m.get("id")): size for m in models if (size := _size(m.get("loaded_context_length")))}


def _llama_cpp(entries: list[dict[str, Any]], fetch: Fetch) -> dict[str, int]:
    """One server serves one model: its running context is a property of the server."""
    props = fetch("/props", None)
    settings = props.get("default_generation_settings") if isinstance(props, dict) else None
    size = _size(settings.get("n_ctx")) if isinstance(settings, dict) else None
    return {entry["id"]: size for entry in entries} if size and len(entries) == 1 else {}


def _size(value: Any) -> int | None:
    """Only a real positive int is a window (RUNTIME.md 13.3)."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: Any) -> None:
        """Whoever answers for another server is not the endpoint that was named."""


def _get(url: str, body: Mapping[str, Any] | None, timeout_s: float) -> Any:
    data = None if body is None else msgspec.json.encode(body)
    try:
        if urlsplit(url).scheme not in {"http", "https"}:
            return None
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310 - judged above
        # No proxy: what is asked here is this machine, or the one server that the person named.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
        with opener.open(request, timeout=timeout_s) as answer:
            return msgspec.json.decode(answer.read(MAX_BYTES))
    except (OSError, ValueError, http.client.HTTPException):
        return None
