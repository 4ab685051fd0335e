"""`geode-tui search`: what it prints for a person and for a program."""

from __future__ import annotations

import json

from geode_tui.core.messages import user_text
from geode_tui.log import views
from tests.cli.conftest import Here
from tests.cli.place import Place
from tests.log.stores import NOW, SESSION, commit, open_writer

SECRET = "hunter2-hunter2"


def filled(place: Place) -> None:
    geode = place.root / ".geode"
    geode.mkdir(mode=0o700, exist_ok=True)
    for session_id, text in ((SESSION, f"컨텍스트압축 \x1b[31mred {SECRET}"), ("s-2", "다시 압축")):
        writer = open_writer(geode / "sessions.db", session_id)
        commit(writer, lambda tx, text=text: tx.add_message(user_text(text)))
        if session_id == SESSION:
            dream = views.Artifact("art_1", "dream", "압축 뒤의 꿈")
            commit(writer, lambda tx, dream=dream: views.keep_artifact(tx, SESSION, dream))
        writer.close()


def test_the_messages_of_all_sessions_as_json(place: Place, here: Here) -> None:
    filled(place)
    said = json.loads(here("search", "압축", "--json").out)
    assert [(hit["session_id"], hit["seq"], hit["role"]) for hit in said["hits"]] == [
        ("s-2", 1, "user"),
        (SESSION, 1, "user"),
    ]
    assert said["hits"][0]["snippet"] == "다시 [압축]"
    assert said["hits"][0]["timestamp"] == NOW
    assert said["artifacts"] == []


def test_artifacts_on_request_and_by_kind(place: Place, here: Here) -> None:
    filled(place)
    (one,) = json.loads(here("search", "압축", "--artifacts", "--json").out)["artifacts"]
    assert one == {"artifact_id": "art_1", "session_id": SESSION, "kind": "dream", "snippet": "[압축] 뒤의 꿈"}
    assert json.loads(here("search", "압축", "--kind", "other", "--json").out)["artifacts"] == []


def test_lines_are_inert_and_hold_no_secret(place: Place, here: Here) -> None:
    filled(place)
    said = here("search", "hunter2", "--artifacts", env={"MY_API_KEY": SECRET})
    assert said.status == 0
    assert "\x1b" not in said.out
    assert "hunter2" not in said.out


def test_nothing_found_is_said(place: Place, here: Here) -> None:
    filled(place)
    assert here("search", "absent").out == "Nothing was found.\n"
    assert here("search", "-x").status == 0


def test_a_folder_without_runs_is_refused(here: Here) -> None:
    said = here("search", "anything")
    assert said.status != 0
    assert "there are no runs" in said.err
