"""Which providers can be asked, and what the others lack: one list for every place that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from geode_tui.providers.access import CODEX_TOKEN, Access
from geode_tui.providers.registry import LOCAL_URL, SERVICES, missing

if TYPE_CHECKING:
    from geode_tui.providers.local import Endpoint


class Ready(msgspec.Struct, frozen=True):
    """One service. ``lacks`` names what is missing in a word or two (a variable), ``why`` says it in one line; both
    are empty when it can be asked. ``models`` are those that an endpoint of this machine serves, each with the window
    that it reports.
    """

    service: str
    provider: str
    source: str
    lacks: str = ""
    why: str = ""
    models: tuple[tuple[str, int | None], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it can be asked."""
        return not self.lacks


def readiness(access: Access, now: float, endpoints: tuple[Endpoint, ...] | None = None) -> tuple[Ready, ...]:
    """Every service, those that can be asked first. Sends nothing.

    Args:
        access: What may be used.
        now: Epoch seconds, for tokens that expire.
        endpoints: What `local.find` found; None while it was not asked, then local models are left out.
    """
    made = []
    for service in SERVICES.values():
        if service.name == "local":
            made += [] if endpoints is None else [_local(access, endpoints)]
            continue
        why = missing(service.name, access, now)
        lacks = (service.keys[0] if service.keys else CODEX_TOKEN) if why else ""
        made.append(Ready(service.name, service.provider, service.source, lacks, why))
    return tuple(sorted(made, key=lambda ready: not ready.ok))


def _local(access: Access, endpoints: tuple[Endpoint, ...]) -> Ready:
    if endpoints:
        served = {model.id: model.window for endpoint in reversed(endpoints) for model in endpoint.models}
        return Ready("local", "local", "adapter", models=tuple(sorted(served.items())))
    where = f"{access.local_url} does not answer" if access.local_url else "no local endpoint answers on its usual port"
    return Ready("local", "local", "adapter", LOCAL_URL, f"{where}: start one, or name it in {LOCAL_URL}")
