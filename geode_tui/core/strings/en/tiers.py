"""English texts of the memory tiers, sorted by key."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "slash.context": "/context takes tiers, or nothing: /context tiers",
    "tiers.added": "added to them",
    "tiers.empty": "empty: left out",
    "tiers.empty_other": "empty: that of {tier} stays",
    "tiers.failed": "cannot be read",
    "tiers.loaded": "read",
    "tiers.more": "{n} more: context SESSION --tiers --json",
    "tiers.name_identity": "identity",
    "tiers.name_organization": "organization",
    "tiers.name_profile": "user profile",
    "tiers.name_project": "project",
    "tiers.name_session": "session",
    "tiers.not_sent": "None of this is sent to the model: it is put together only when you ask for it.",
    "tiers.nothing": "nothing there",
    "tiers.replaced_other": "replaced by that of {tier}",
    "tiers.summary": "in short",
    "tiers.summary_empty": "nothing to say",
    "tiers.summary_size": "{n} of at most {most} characters",
    "tiers.title": "Memory tiers",
    "tiers.used": "used",
    "tiers.used_other": "used in place of that of {tier}",
}
