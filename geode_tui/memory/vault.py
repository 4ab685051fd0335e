"""The project's vault: texts made for the person, by what they are for (RUNTIME.md 6). None is ever replaced."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias, get_args

from geode_tui.context.injection import cut
from geode_tui.core.text import fold_width
from geode_tui.memory.files import MOST_ENTRIES, Folder
from geode_tui.memory.loading import Loaded
from geode_tui.memory.writing import create, locked

Category: TypeAlias = Literal["profile", "research", "applications", "general"]
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)
FOLDER: Final = "vault"
MOST_BYTES: Final = 1_000_000
"""Of one text."""
MOST_TEXTS: Final = MOST_ENTRIES // 2
"""In one folder."""
TOLD_NAMES: Final = 3
_NOTES: Final = "meta.json"
"""What another program keeps beside its texts: it is none of them."""
_VERSIONS: Final = 100
_NAME_CHARS: Final = 60


def save(geode: Folder, name: str, text: str, day: str, category: Category = "general", to: str = "") -> str:
    """Keep ``text`` under ``name`` and ``day`` (ISO), with a number where there is one of that name already; of
    ``applications`` in the folder of whom it is ``to``. Returns its path inside ``geode``.

    Raises `Unusable`, and `ValueError` for a text that is too large.
    """
    data = text.encode()
    if len(data) > MOST_BYTES:
        raise ValueError(f"a text of the vault has at most {MOST_BYTES // 1_000} KB")
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, ending) if dot and stem and re.fullmatch(r"[A-Za-z0-9]{1,8}", ending) else (name, "md")
    folder = f"{FOLDER}/{category}" + (f"/{slug(to)}" if to and category == "applications" else "")
    with locked(geode, folder) as inside:
        if len(geode.files(folder)) >= MOST_TEXTS:
            raise geode.unusable(folder, f"holds {MOST_TEXTS} texts already: move some of them elsewhere")
        for version in range(1, _VERSIONS):
            again = f"-v{version}" if version > 1 else ""
            kept = f"{slug(stem)}-{day}{again}.{ending}"
            if create(inside, kept, data):
                return f"{folder}/{kept}"
    raise geode.unusable(folder, f"holds {_VERSIONS - 1} texts of that name and day: choose another name")


def slug(text: str) -> str:
    """``text`` as the name of a file: letters, digits, ``-`` and ``_`` of any script."""
    words = re.sub(r"[^\w-]+", "-", fold_width(text).lower()).strip("-_")
    return cut(words, _NAME_CHARS) or "text"


def load_vault(geode: Folder, person: Folder) -> Loaded:
    """What the vault adds to the tiers: the project's, or where that is empty the person's. Raises `Unusable`."""
    for folder in (geode, person):
        counts = {category: _count(folder, f"{FOLDER}/{category}") for category in CATEGORIES}
        if any(counts.values()):
            told = ", ".join(_told(folder, category, count) for category, count in counts.items() if count)
            return Loaded({"_vault_summary": f"Vault: {told}"}, (folder.shown(FOLDER),))
    return Loaded()


def _told(folder: Folder, category: Category, count: int) -> str:
    names = folder.folders(f"{FOLDER}/{category}")[:TOLD_NAMES] if category == "applications" else []
    return f"{count} {category}" + (f" ({', '.join(cut(name, _NAME_CHARS) for name in names)})" if names else "")


def _count(folder: Folder, relative: str) -> int:
    """The texts in a folder and in the folders in it."""
    folders = [relative, *(f"{relative}/{name}" for name in folder.folders(relative))]
    return sum(name != _NOTES for one in folders for name in folder.files(one))
