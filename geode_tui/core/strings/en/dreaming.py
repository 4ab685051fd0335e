"""English texts of dreaming, sorted by key."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "command.approve": "approving",
    "command.dream": "dream",
    "command.forget": "forgetting",
    "dreaming.forgotten": "forgotten",
    "dreaming.health": "last dream {at} by {by}, up to message {upto}; {lag} messages since; dreams cost {cost}",
    "dreaming.local": "the program",
    "dreaming.marked": "{count} lines without a source",
    "dreaming.none": "no dream yet; {lag} messages",
    "slash.dream": "/dream takes now, or nothing: /dream now",
    "slash.help_dream": "Dream now: write down what the run should still know later",
}
