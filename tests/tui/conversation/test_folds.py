from hypothesis import given
from hypothesis import strategies as st

from geode_tui.tui.conversation.cards import Call, Standing
from geode_tui.tui.conversation.folds import LIKE_CALLS, READING_TOOLS, CardItem, FoldItem, refold, with_folds
from geode_tui.tui.conversation.items import Item, NoteItem
from tests.tui.conversation.kit import canvas, texts

names = st.sampled_from(["read_file", "grep", "run_shell", "-"])
kinds = st.sampled_from(["ok", "ok", "ok", "failed", "running", "waiting"])


def make(parts: list[tuple[str, str]]) -> list[Item]:
    items: list[Item] = []
    for number, (name, kind) in enumerate(parts):
        if name == "-":
            items.append(NoteItem("conv.interrupted"))
            continue
        card = CardItem(Call(f"c{number}", name, f"file{number}", is_path=False))
        card.state = Standing(kind)  # type: ignore[arg-type]
        items.append(card)
    return with_folds(items)


def expected(parts: list[tuple[str, str]]) -> list[list[int]]:
    """The runs of like calls that succeeded, by the numbers of their parts."""
    runs: list[list[int]] = [[]]
    for number, (name, kind) in enumerate(parts):
        if name not in READING_TOOLS or kind != "ok":
            runs.append([])
            continue
        if runs[-1] and parts[runs[-1][-1]] != (name, kind):
            runs.append([])
        runs[-1].append(number)
    return [run for run in runs if len(run) >= LIKE_CALLS]


@given(st.lists(st.tuples(names, kinds), max_size=14), st.data())
def test_just_the_long_runs_of_like_calls_that_succeeded_are_hidden(
    parts: list[tuple[str, str]], data: st.DataObject
) -> None:
    items = make(parts)
    refold(items)
    assert not refold(items), "it is stable"
    folds = [item for item in items if isinstance(item, FoldItem) and item.members]
    assert [[int(card.key[1:]) for card in fold.members] for fold in folds] == expected(parts)
    hidden = {card for fold in folds for card in fold.members}
    assert {item for item in items if isinstance(item, CardItem) and not item.lines} == hidden
    for fold in folds:
        assert fold.lines == 1
        fold.opened = True
    refold(items)
    assert all(item.lines for item in items if isinstance(item, CardItem))


@given(st.lists(kinds, min_size=3, max_size=8), st.lists(kinds, min_size=8, max_size=8))
def test_as_states_change_nothing_stays_hidden_by_mistake(before: list[str], after: list[str]) -> None:
    parts = [("grep", kind) for kind in before]
    items = make(parts)
    refold(items)
    cards = [item for item in items if isinstance(item, CardItem)]
    changed = [("grep", kind) for kind in after[: len(parts)]]
    for card, (_, kind) in zip(cards, changed, strict=True):
        card.state = Standing(kind)  # type: ignore[arg-type]
    refold(items)
    wanted = {number for run in expected(changed) for number in run}
    assert {number for number, card in enumerate(cards) if card.hidden} == wanted


def test_the_row_of_a_run_says_how_many_and_which() -> None:
    for name, words in (("read_file", "3 files"), ("grep", "3 searches"), ("list_dir", "3 folders")):
        items = make([(name, "ok")] * 3)
        refold(items)
        fold = items[0]
        (row,) = texts(fold.draw(canvas(80)))
        assert f"{name}  {words}  file0  file1  file2" in row
        (short,) = texts(fold.draw(canvas(24)))
        assert name in short
