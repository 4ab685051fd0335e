"""Heights of a growing list of parts, and the part at a given line, in logarithmic time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate


class Heights:
    """A Fenwick tree over line counts: appending, changing, removing at the end and finding are all O(log n), so a
    conversation of any length costs the same for each line that is added.
    """

    def __init__(self, sizes: Iterable[int] = ()) -> None:
        self._sizes: list[int] = list(sizes)
        self.total = sum(self._sizes)
        """All lines."""
        sums = [0, *accumulate(self._sizes)]
        self._tree = [0, *(sums[node] - sums[node & (node - 1)] for node in range(1, len(sums)))]

    def __len__(self) -> int:
        return len(self._sizes)

    def __getitem__(self, index: int) -> int:
        return self._sizes[index]

    def append(self, size: int) -> None:
        """Add a part of ``size`` lines at the end."""
        self._sizes.append(size)
        node = len(self._sizes)
        value, below = size, node - 1
        while below > node - (node & -node):
            value += self._tree[below]
            below -= below & -below
        self._tree.append(value)
        self.total += size

    def set(self, index: int, size: int) -> None:
        """Part ``index`` now has ``size`` lines."""
        change = size - self._sizes[index]
        if not change:
            return
        self._sizes[index] = size
        self.total += change
        node = index + 1
        while node < len(self._tree):
            self._tree[node] += change
            node += node & -node

    def truncate(self, length: int) -> None:
        """Keep the first ``length`` parts."""
        self.total -= sum(self._sizes[length:])
        del self._sizes[length:]
        del self._tree[length + 1 :]

    def top(self, index: int) -> int:
        """Lines before part ``index``."""
        node, lines = index, 0
        while node > 0:
            lines += self._tree[node]
            node -= node & -node
        return lines

    def find(self, line: int) -> tuple[int, int]:
        """The part that holds ``line`` and the line's number in it. Beyond the end: ``(len, excess)``; a negative
        line counts as 0. Parts without lines are never found.
        """
        line = max(0, line)
        node, step = 0, 1 << len(self._sizes).bit_length()
        while step:
            below = node + step
            if below < len(self._tree) and self._tree[below] <= line:
                node = below
                line -= self._tree[below]
            step >>= 1
        return node, line
