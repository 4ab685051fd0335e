"""A text file's content as a person means it, apart from how it is stored: line ends and byte-order mark."""

from __future__ import annotations

import msgspec

_MARK = "\ufeff"


class EncodedText(msgspec.Struct, frozen=True):
    """Text with plain line ends; ``crlf`` and ``mark`` say how it is stored. A file that mixes line ends keeps its
    carriage returns in ``text``."""

    text: str
    crlf: bool = False
    mark: bool = False

    @classmethod
    def of(cls, content: bytes) -> EncodedText:
        """Inverse of `encode`. Raises `UnicodeDecodeError`."""
        whole = content.decode("utf-8")
        text = whole.removeprefix(_MARK)
        crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
        return cls(text.replace("\r\n", "\n") if crlf else text, crlf, text != whole)

    def with_text(self, text: str) -> EncodedText:
        """The same way of storing, another text. A mark that ``text`` brings itself is not doubled."""
        plain = text.removeprefix(_MARK) if self.mark else text
        return EncodedText(self.adopted(plain), self.crlf, self.mark)

    def adopted(self, text: str) -> str:
        """``text`` with the line ends of ``self.text``."""
        return text.replace("\r\n", "\n") if self.crlf else text

    def encode(self) -> bytes:
        """The bytes to store."""
        text = self.text.replace("\n", "\r\n") if self.crlf else self.text
        return ((_MARK if self.mark else "") + text).encode()
