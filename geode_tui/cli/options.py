"""What a run is started with, from settings and flags. No command line parser here: the dashboard needs it too."""

from __future__ import annotations

from typing import Any

import msgspec

from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.cli.routing import chosen
from geode_tui.core.limits import Approve, Limits, OnLimit, RunOptions
from geode_tui.core.settings import Settings
from geode_tui.providers.access import NoProvider
from geode_tui.providers.registry import heir

RETRY_WATCHED_S, RETRY_HEADLESS_S = 1_800.0, 600.0


class Wishes(msgspec.Struct, frozen=True):
    """What flags ask for; None leaves the setting. Times in seconds, money in micro-dollars."""

    max_rounds: int | None = None
    time_budget_s: float | None = None
    session_budget_s: float | None = None
    cost_budget_micro: int | None = None
    approve: Approve | None = None
    on_limit: OnLimit | None = None
    seed: int = 0
    wait_for_approval: bool = False
    model: str = ""
    provider: str = ""
    effort: str = ""

    def route(self, settings: Settings) -> tuple[str, str, str]:
        """(provider, model, effort) of a new run. The settings' model belongs to the settings' provider, and their
        effort to both.
        """
        provider = self.provider or (heir(self.model, settings.provider) if settings.provider else "")
        model = self.model or ("" if self.provider else settings.model)
        return provider, model, self.effort or ("" if self.provider or self.model else settings.effort)

    def limits(self, base: Limits) -> Limits:
        """``base`` with what is asked for."""
        names = ("max_rounds", "time_budget_s", "session_budget_s", "cost_budget_micro")
        changes: dict[str, Any] = {n: getattr(self, n) for n in names if getattr(self, n) is not None}
        return msgspec.structs.replace(base, **changes)


def new_options(
    env: Env,
    wishes: Wishes = Wishes(),  # noqa: B008 - frozen
    *,
    headless: bool = False,
) -> RunOptions:
    """The options of a new session, its route chosen. Raises `CliError`."""
    settings = env.settings
    provider, model, effort = wishes.route(settings)
    try:
        choice = chosen(env, provider, model, effort)
    except NoProvider as error:
        raise CliError(str(error)) from error
    return RunOptions(
        model=choice.model,
        provider=choice.service,
        effort=effort,
        approve=wishes.approve or settings.approve,
        limits=wishes.limits(settings.run_limits()),
        on_limit=wishes.on_limit or settings.limits.on_limit,
        headless=headless,
        wait_for_approval=wishes.wait_for_approval,
        retry_for_s=settings.retry_for_s or (RETRY_HEADLESS_S if headless else RETRY_WATCHED_S),
        seed=wishes.seed,
        read_only=env.project.at_home,
    )


def next_options(before: str, wishes: Wishes, *, headless: bool) -> RunOptions:
    """The options of another turn in a session: its own (``before``, JSON), with the wishes over them."""
    options = msgspec.json.decode(before, type=RunOptions)
    return msgspec.structs.replace(
        options,
        approve=wishes.approve or options.approve,
        limits=wishes.limits(options.limits),
        on_limit=wishes.on_limit or options.on_limit,
        headless=headless,
        wait_for_approval=wishes.wait_for_approval,
    )
