"""Counting tokens without a network: bundled vocabularies, and a count by script for where none is loaded.

A vocabulary takes about 0.3 s and 90 MB (PERFORMANCE.md, "Offline tokenizers"): a worker or a command loads one in a
thread when it first needs it, the screen never does.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib
import re
import types
from collections import OrderedDict
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    import tiktoken

VocabularyName: TypeAlias = Literal["o200k_base", "cl100k_base"]
CHARS_PER_TOKEN = 4
CHUNK_CHARS = 100_000
"""Counted in pieces of this size: 0.003 % more tokens, and no text takes long (PERFORMANCE.md)."""
REMEMBERED = 4_096
"""Counts of texts that are kept, the newest."""
_WORTH_REMEMBERING = 1_000
"""Characters from which a text is looked up by its hash before it is counted."""
VOCABULARIES: tuple[VocabularyName, ...] = ("o200k_base", "cl100k_base")
_HASHES: dict[str, str] = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""SHA-256 of the official files, as tiktoken itself checks them."""
_WIDE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+")


class TokenCounter(Protocol):
    """Counts tokens of text. ``vocabulary`` is empty for a count by script."""

    vocabulary: str

    def count(self, text: str) -> int:
        """Tokens of ``text``."""
        ...


def text_tokens(text: str) -> int:
    """Tokens by script: one for a CJK or Hangul syllable, four characters of the rest for one (RUNTIME.md 1.6)."""
    wide = 0 if text.isascii() else sum(map(len, _WIDE.findall(text)))
    return wide + -(-(len(text) - wide) // CHARS_PER_TOKEN)


class ScriptCounter:
    """A count that needs nothing loaded."""

    vocabulary = ""

    def count(self, text: str) -> int:
        """See `text_tokens`."""
        return text_tokens(text)


class VocabularyError(Exception):
    """A bundled vocabulary is missing or damaged: one line that says so."""


class Vocabulary:
    """A loaded encoding. For one thread at a time."""

    def __init__(self, name: VocabularyName, encoding: tiktoken.Encoding) -> None:
        self.vocabulary: str = name
        self._encoding = encoding
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    def count(self, text: str) -> int:
        """Tokens of ``text``; what reads like a special token counts as the text that it is."""
        if len(text) < _WORTH_REMEMBERING:
            return len(self._encoding.encode_ordinary(text))
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._counts.get(key)
        if known is None:
            known = self._count_chunks(text)
            if len(self._counts) >= REMEMBERED:
                self._counts.popitem(last=False)
        else:
            self._counts.move_to_end(key)
        self._counts[key] = known
        return known

    def _count_chunks(self, text: str) -> int:
        starts = range(0, len(text), CHUNK_CHARS)
        return sum(len(self._encoding.encode_ordinary(text[at : at + CHUNK_CHARS])) for at in starts)


def load_vocabulary(name: VocabularyName) -> Vocabulary:
    """Load a bundled vocabulary, in the calling thread. Never downloads. Raises `VocabularyError`."""
    import tiktoken

    openai_public = importlib.import_module("tiktoken_ext.openai_public")
    ranks = _ranks(name)
    # tiktoken defines the encoding; only its loader, which would download, is replaced.
    define: Any = getattr(openai_public, name)
    names = {**vars(openai_public), "load_tiktoken_bpe": lambda *_, **__: ranks}
    return Vocabulary(name, tiktoken.Encoding(**types.FunctionType(define.__code__, names)()))


def official(name: VocabularyName) -> bytes:
    """The vocabulary's file as published, unpacked. Raises `VocabularyError` where it is not there, or another one."""
    try:
        packed = resources.files("geode_tui.core.data").joinpath(f"{name}.tiktoken.gz").read_bytes()
        raw = gzip.decompress(packed)
    except (OSError, EOFError) as error:
        raise VocabularyError(f"the vocabulary {name} cannot be read ({error}): install geode-tui again") from error
    if hashlib.sha256(raw).hexdigest() != _HASHES[name]:
        raise VocabularyError(f"the vocabulary {name} is not the official one: install geode-tui again")
    return raw


def _ranks(name: VocabularyName) -> dict[bytes, int]:
    pairs = (line.split() for line in official(name).splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}
