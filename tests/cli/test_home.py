"""The home screen on real projects: what is ready, trust, the words of a run, and a bare `geode-tui` on a terminal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from geode_tui.cli.env import Env
from geode_tui.cli.home import PEEK_CHARS, StoreHome
from geode_tui.log.store import create
from geode_tui.tui.home_source import ProviderReady, TrustQuestion
from geode_tui.tui.source import SourceError
from geode_tui.view.overview import Listing
from tests.cli.endpoints import serving
from tests.cli.place import until
from tests.log.stores import NOW, answer, open_writer, pieces
from tests.tui import hostile
from tests.tui.terminals import terminal

WIDE = 'approve = "all"\n\n[limits]\nrounds = 3\n'


def home_of(project: Path, **environment: str) -> StoreHome:
    return StoreHome(Env(project, {**os.environ, **environment}))


def settings(project: Path, text: str) -> Path:
    path = project / ".geode" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("environment", "ready", "used"),
    [
        ({}, ["offline"], ("offline", "offline-planner")),
        ({"ANTHROPIC_API_KEY": "sk-ant-x"}, ["anthropic", "offline"], ("anthropic", "claude-opus-5-5")),
        ({"ZAI_API_KEY": "k", "OPENROUTER_API_KEY": "k"}, ["openrouter", "glm", "offline"], ("glm", "glm-5.3")),
    ],
)
def test_what_is_ready_is_what_a_new_run_would_use(
    project: Path, environment: dict[str, str], ready: list[str], used: tuple[str, str]
) -> None:
    readiness = home_of(project, **environment).readiness()
    assert [p.name for p in readiness.providers if not p.missing] == ready
    assert (readiness.provider, readiness.model) == used
    assert ProviderReady("openai", "OPENAI_API_KEY") in readiness.providers


def test_local_endpoints_are_known_once_they_were_looked_for(project: Path) -> None:
    with serving({"/v1/models": {"data": [{"id": "qwen", "max_model_len": 32_768}]}}) as root:
        home = home_of(project, GEODE_LOCAL_URL=f"{root}/v1")
        assert "local" not in {p.name for p in home.readiness().providers}
        assert ProviderReady("local") in home.look_around().providers
        (local,) = [m for m in home.models() if m.service == "local"]
        assert (local.model, local.window, local.provenance) == ("qwen", 32_768, "discovered")
        assert home.use("local/qwen", "", "").model == "qwen"
        assert home.new().session_id


def test_every_model_that_can_be_chosen_is_listed_and_the_rest_says_why(project: Path) -> None:
    models = home_of(project, ZAI_API_KEY="k", GEODE_LOCAL_URL="http://127.0.0.1:1/v1").models()
    assert {m.model for m in models if m.service == "glm"} >= {"glm-5.3", "glm-5-turbo"}
    assert all(m.budget > m.warning > 0 for m in models if m.model)
    assert {m.service for m in models if m.why} == {"anthropic", "openai", "codex", "openrouter", "local"}


def test_new_runs_use_the_model_that_was_chosen_and_one_that_cannot_be_had_changes_nothing(project: Path) -> None:
    home = home_of(project, ZAI_API_KEY="k")
    assert home.use("glm-5.2", "", "").model == "glm-5.2"
    for model, service, effort in (("gpt-6-sol", "", ""), ("", "nobody", ""), ("", "", "low")):
        with pytest.raises(SourceError):
            home.use(model, service, effort)
    assert home.readiness().model == "glm-5.2"


def test_a_provider_that_cannot_be_had_is_told_and_no_run_starts(project: Path) -> None:
    home = home_of(project, GEODE_PROVIDER="anthropic", GEODE_MODEL="claude-opus-5-5")
    settings(project, 'provider = "anthropic"\n')
    home = home_of(project)
    assert "ANTHROPIC_API_KEY" in home.readiness().problem
    with pytest.raises(SourceError, match="ANTHROPIC_API_KEY"):
        home.new()


def test_the_home_folder_itself_is_for_reading_only(person: Path) -> None:
    home = home_of(person)
    assert home.readiness().read_only
    assert home.project == "~"


def test_a_project_below_the_home_folder_is_written_with_a_tilde(person: Path) -> None:
    below = person / "src" / "parser"
    (below / ".git").mkdir(parents=True)
    assert home_of(below).project == "~/src/parser"


def test_trust_counts_at_once_for_runs_that_are_started_from_here(project: Path) -> None:
    settings(project, WIDE)
    home = home_of(project)
    question = home.trust_question()
    assert question is not None
    assert question.settings == (("approve", "all"), ("limits.rounds", "3"))
    before = home.new()._options
    home.trust(question)
    assert home.trust_question() is None
    after = home.new()._options
    assert before is not None
    assert after is not None
    assert (before.approve, after.approve, after.limits.max_rounds) == ("ask", "all", 3)
    assert home_of(project).trust_question() is None


def test_settings_that_changed_under_the_question_are_not_trusted(project: Path) -> None:
    settings(project, WIDE)
    home = home_of(project)
    question = home.trust_question()
    assert question is not None
    settings(project, WIDE + "[tools]\ndeny = []\n")
    with pytest.raises(SourceError, match="has changed meanwhile"):
        home.trust(question)
    again = home.trust_question()
    assert again is not None
    assert again.mark != question.mark
    assert home.new()._options.approve == "ask"  # type: ignore[union-attr]


def test_trust_that_cannot_be_kept_is_an_error(project: Path, person: Path) -> None:
    (person / "geode-tui").mkdir()
    (person / "geode-tui" / "data").write_text("in the way")
    with pytest.raises(SourceError, match="cannot be made"):
        home_of(project).trust(TrustQuestion((("approve", "all"),), "mark"))


def test_the_words_of_a_run_are_those_said_last_also_while_they_are_being_said(project: Path) -> None:
    writer = open_writer(project / ".geode" / "sessions.db", "s-1")
    home = home_of(project)
    assert home.peek("s-1") == ""
    number, seq = writer.write(lambda tx: tx.open_message(), now=NOW, turn=1, round_=1)[0]
    writer.write(lambda tx: tx.add_chunks(pieces(number, "I am ", "read")), now=NOW, turn=1, round_=1)
    assert home.peek("s-1") == "I am read"
    text = "I am ready" + "." * PEEK_CHARS
    writer.write(lambda tx: tx.complete_message(number, seq, answer(text), "end_turn", 1), now=NOW, turn=1, round_=1)
    assert home.peek("s-1") == text[-PEEK_CHARS:]
    writer.close()


def test_a_run_whose_id_could_name_another_file_is_listed_and_not_opened(project: Path) -> None:
    writer = open_writer(project / ".geode" / "sessions.db", "s-1")
    writer.db.execute("UPDATE sessions SET session_id='../../x'")
    writer.close()
    home = home_of(project)
    assert [(run.session_id, run.liveness.state) for run in _listing(home).runs] == [("../../x", "free")]
    with pytest.raises(SourceError, match="an id has"):
        home.open("../../x")


def test_a_log_that_cannot_be_read_is_one_line(project: Path) -> None:
    with pytest.raises(SourceError):
        home_of(project).peek("s-1")


def test_a_bare_start_on_a_terminal_lists_runs_opens_one_and_comes_back(project: Path, person: Path) -> None:
    store = project / ".geode" / "sessions.db"
    create(store).close()
    open_writer(store, "s-1", title="The one run there is").close()
    env = {"HOME": str(person), "GEODE_TUI_HOME": str(person / "geode-tui")}
    with terminal(module="geode_tui", size=(100, 30), cwd=project, env=env) as screen:
        screen.until(b"The one run there is")
        screen.until(b"offline ready")
        screen.quiet()
        assert screen.read(1.2) == b""
        screen.write(b"\r")
        screen.until(b"Conversation")
        screen.quiet()
        seen = len(screen.seen)
        screen.write(b"\x1b")
        until(lambda: screen.read(0.1) is not None and b"tart a run" in screen.seen[seen:], "the list again")
        screen.quiet()
        screen.write(b"\x11")
        assert screen.finish() == 0
    assert b"Traceback" not in screen.seen


def test_a_run_is_started_from_the_list_and_goes_on_after_leaving(project: Path, person: Path) -> None:
    (project / "README.md").write_text("# A project\n")
    env = {"HOME": str(person), "GEODE_TUI_HOME": str(person / "geode-tui")}
    with terminal(module="geode_tui", size=(100, 30), cwd=project, env=env) as screen:
        screen.until(b"A cockpit for long agent runs")
        screen.write(b"read README.md")
        screen.until(b"README.md")
        screen.write(b"\r")
        screen.until(b"needs you")
        screen.write(b"\x1bOQ")
        screen.until(b"1 needs you")
        screen.quiet()
        screen.write(b"\x11")
        assert screen.finish() == 0
    assert b"1 live. geode-tui shows them again." in screen.seen
    home = home_of(project)
    assert [run.title for run in _listing(home).runs] == ["read README.md"]


def test_no_byte_of_a_hostile_project_reaches_the_terminal(tmp_path: Path, person: Path) -> None:
    project = tmp_path / "\x1b]0;pwn\x07[@click=app.quit]x[*]"
    (project / ".git").mkdir(parents=True)
    hostile.write(project / ".geode" / "sessions.db")
    env = {"HOME": str(person), "GEODE_TUI_HOME": str(person / "geode-tui"), "GEODE_LANG": "ko"}
    with terminal(module="geode_tui", size=(120, 40), cwd=project, env=env) as screen:
        screen.until("한글 표 정렬".encode())
        for keys in (b"\x1b[B", b"\t", b"G", b"\x10", b"\x1b"):
            screen.write(keys)
            screen.quiet()
        screen.write(b"\x11")
        assert screen.finish() == 0
    for never in hostile.NEVER:
        assert never not in screen.seen
    assert b"Traceback" not in screen.seen


def _listing(home: StoreHome) -> Listing:
    feed = home.feed(lambda: None)
    feed.start()
    try:
        until(lambda: feed.take().runs, "the first list")
        return feed.take()
    finally:
        feed.stop()
