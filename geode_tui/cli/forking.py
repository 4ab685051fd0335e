"""`fork`: another session that goes on from a round of this one."""

from __future__ import annotations

import msgspec

from geode_tui.cli.awaiting import carried_out
from geode_tui.cli.client import Client, fresh_session_id
from geode_tui.cli.env import Env, refuse_inside
from geode_tui.cli.errors import CliError
from geode_tui.cli.rounds import find_round
from geode_tui.log import commands as cmd
from geode_tui.log.fork import ForkError, ended_rounds, fork_point


class Forked(msgspec.Struct, frozen=True):
    """A new session, and the round of ``parent`` after which it begins. ``said`` is what did not come along."""

    session_id: str
    parent: str
    turn: int
    round: int
    said: str


def fork(env: Env, session: str, at: str, *, json: bool) -> int:
    """Begin a copy of ``session`` as it stood after a round, empty for the newest that has ended.

    Returns the exit status. Raises `CliError`.
    """
    refuse_inside(env.environment, "fork")
    transcript = env.transcript()
    try:
        row = env.session(transcript, session)
        turn, round_ = 0, 0
        if at:
            ends = ended_rounds(transcript.index(row.session_id))
            turn, round_ = find_round(at, [(end.turn, end.round) for end in ends], row.session_id)
    finally:
        transcript.db.close()
    made = forked(env, row.session_id, turn, round_)
    if made.said:
        env.note(made.said)
    if json:
        env.print_json({"session_id": made.session_id, "parent": made.parent, "turn": made.turn, "round": made.round})
        return 0
    env.print(made.session_id)
    env.note(
        f"a copy of {made.parent} as it was after round {made.turn}.{made.round};"
        f" geode-tui attach {made.session_id} goes on"
    )
    return 0


def forked(env: Env, parent: str, turn: int, round_: int) -> Forked:
    """Begin a copy of session ``parent`` after that round, 0 as in `log.fork.fork_point`, and wait until it is there.

    Raises `CliError`; nothing is written where there is no such round.
    """
    transcript = env.transcript()
    try:
        end = fork_point(transcript, parent, turn, round_).end
    except ForkError as error:
        raise CliError(str(error)) from error
    finally:
        transcript.db.close()
    client = Client(env, fresh_session_id())
    _, said = carried_out(client, cmd.Fork(parent, end.turn, end.round), "the fork")
    return Forked(client.session_id, parent, end.turn, end.round, said)
