"""`search`: messages and artifacts of all sessions."""

from __future__ import annotations

from geode_tui.cli.env import Env
from geode_tui.cli.errors import CliError
from geode_tui.core.text import clean_line
from geode_tui.log.search import find, find_artifacts
from geode_tui.log.store import StoreError


def search(env: Env, query: str, *, artifacts: bool, kind: str | None, json: bool) -> int:
    """Print the newest messages with all words of ``query``, and artifacts where asked. Raises `CliError`."""
    transcript = env.transcript()
    try:
        hits = find(transcript.db, env.project.geode, query, env.safe)
        wanted = artifacts or kind is not None
        made = find_artifacts(transcript.db, query, env.safe, kind or "") if wanted else ()
    except StoreError as error:
        raise CliError(str(error), 1) from error
    finally:
        transcript.db.close()
    if json:
        env.print_json({"hits": hits, "artifacts": made})
        return 0
    if not hits and not made:
        env.print(env.strings.t("search.none"))
    for hit in hits:
        env.print(f"{clean_line(hit.session_id, 128)} {hit.seq:>6} {hit.role:<9}  {clean_line(hit.snippet, 400)}")
    for one in made:
        about = f"{clean_line(one.session_id, 128)} {clean_line(one.kind, 40)}"
        env.print(f"{clean_line(one.artifact_id, 128)} {about}  {clean_line(one.snippet, 400)}")
    return 0
