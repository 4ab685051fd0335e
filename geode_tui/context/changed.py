"""What is told of a new version of the view. Pure."""

from __future__ import annotations

from geode_tui.core.events import ContextFigures, LostItem, ViewChanged
from geode_tui.core.views import Clear, MaxTurns, Native, Summarise, Trim, Version, counts


def view_changed(
    version: Version,
    after: ContextFigures,
    *,
    artifact_id: str = "",
    unbound: int = 0,
    lost: tuple[LostItem, ...] = (),
    back: tuple[int, int] | None = None,
) -> ViewChanged:
    """The event of ``version``, whose gauge is ``after``; the rest is as in `ViewChanged`."""
    hiding = (op for op in version.operations if isinstance(op, Summarise | Native | Trim | Clear | MaxTurns))
    return ViewChanged(
        version=version.number,
        parent=version.parent,
        cause=version.cause,
        mode=version.mode,
        operations=counts(version.operations),
        tokens_before=version.tokens_before,
        tokens_after=version.tokens_after,
        first_changed=version.first_changed,
        context=after,
        artifact_id=artifact_id,
        local=any(isinstance(op, Summarise) and op.local for op in version.operations),
        takes_back=version.takes_back,
        gives_back=version.gives_back,
        unbound=unbound,
        upto=max((op.upto for op in hiding), default=0),
        lost=lost,
        back=back,
    )
