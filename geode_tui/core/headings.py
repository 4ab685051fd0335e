"""The parts of a summary, shared by those who ask for one, check one and write one."""

from __future__ import annotations

from typing import Final

SUMMARY_HEADINGS: Final = (
    "Active Task",
    "Goal",
    "Constraints & Preferences",
    "Completed Actions",
    "Active State",
    "Blocked",
    "Key Decisions",
    "Pending User Asks",
    "Relevant Files",
    "Remaining Work",
    "Critical Context",
)
"""RUNTIME.md 3.3, in its order."""
NONE_BULLET: Final = "- none"
"""What stands under a heading that has nothing to say."""
LATEST_TAG: Final = "latest_instruction"
"""The part of a summary's source that gives the person's latest instruction."""
ROUNDS_DONE: Final = "Rounds for this task"
FILES_READ: Final = "Files read for this task"
LAST_READ: Final = "Last file read"
"""How far the task came, as bullets of its state: the offline planner goes on from them."""
