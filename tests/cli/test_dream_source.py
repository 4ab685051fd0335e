"""What the Dreams tab reads out of a real store."""

from __future__ import annotations

from geode_tui.cli.dashboard import StoreSource
from geode_tui.cli.dream_source import row_of
from geode_tui.cli.env import Env
from geode_tui.log.views import Artifact
from geode_tui.tui.screens.run_dreams import KEPT_KINDS
from geode_tui.view.dreams import lines_of
from tests.cli.place import Place, until


def test_a_dream_is_read_and_once_forgotten_injected_no_more(place: Place) -> None:
    del place.environment["GEODE_DREAMS"]
    place.cli("run", "read notes.txt", "--approve", "all")
    session = place.newest
    until(lambda: place.payloads(session, "dream_ended"), "the dream")
    source = StoreSource(Env(place.root, place.environment), session)

    table = source.dreams()
    (row,) = table.rows
    assert (row.kind, row.model, row.injected, row.forgotten, table.dreams) == ("dream", "", True, None, 1)
    assert table.injection.startswith(f"dream seq={row.first}-{row.upto}: ## Durable Facts")
    assert table.upto == row.upto
    assert 0 < row.observed_at <= row.at
    assert [line.text for line in lines_of(row) if line.kind == "heading"][::5] == ["Durable Facts", "Citations"]

    source.send("approve", {"artifact_id": row.artifact_id})
    until(lambda: place.payloads(session, "artifact_approved"), "the approval")
    assert source.dreams().rows[0].approved
    source.send("forget", {"artifact_id": row.artifact_id, "why": "stale"})
    until(lambda: place.payloads(session, "artifact_forgotten"), "the forgetting")
    (gone,) = source.dreams().rows
    assert (gone.text, gone.forgotten, gone.injected) == ("", "person: stale", False)
    assert source.dreams().injection == ""


def test_metadata_of_another_shape_is_taken_as_not_known() -> None:
    meta = {"marks": [{"line": "x"}, 3, {"line": 2}], "observed_at": "soon", "cost_micro": "1", "forgotten": "yes"}
    row = row_of(Artifact("art_1", "dream", "text", metadata={**meta, "applied": 0, "why": []}), injected=False)
    assert (row.marks, row.observed_at, row.cost_micro, row.forgotten) == (((2, ""),), 0.0, None, "")
    assert (row.applied, row.why, row.first) == (None, "", 0)


def test_the_commands_about_kept_texts_have_a_name_in_every_outcome(place: Place) -> None:
    from geode_tui.core.strings import Strings

    assert all(Strings(language).has(f"command.{kind}") for language in ("en", "ko") for kind in KEPT_KINDS)
