from hypothesis import given
from hypothesis import strategies as st

from geode_tui.tui.conversation.heights import Heights

sizes = st.lists(st.integers(0, 9), max_size=40)


@given(sizes, sizes, st.lists(st.tuples(st.integers(0, 79), st.integers(0, 9)), max_size=20))
def test_sums_are_those_of_a_plain_list(start: list[int], more: list[int], changes: list[tuple[int, int]]) -> None:
    heights, plain = Heights(start), list(start)
    for size in more:
        heights.append(size)
        plain.append(size)
    for index, size in changes:
        if index < len(plain):
            heights.set(index, size)
            plain[index] = size
    keep = len(plain) * 2 // 3
    heights.truncate(keep)
    del plain[keep:]
    heights.append(7)
    plain.append(7)
    assert heights.total == sum(plain)
    assert [heights.top(i) for i in range(len(plain) + 1)] == [sum(plain[:i]) for i in range(len(plain) + 1)]
    lines = [(part, line) for part, size in enumerate(plain) for line in range(size)]
    assert [heights.find(line) for line in range(heights.total)] == lines


def test_a_line_beyond_the_end_is_after_the_last_part() -> None:
    assert Heights([2, 3]).find(9) == (2, 4)
    assert Heights().find(0) == (0, 0)
    assert Heights([2]).find(-5) == (0, 0)
