"""Which stored results leave, and which never do."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from geode_tui.core.limits import Retention
from geode_tui.log import offloads, retention
from geode_tui.log.retention import Kept, leaving

kept = st.lists(
    st.builds(
        Kept,
        session_id=st.just("s"),
        ref_id=st.integers(0, 10**9).map("c{}".format),
        offloaded_at=st.floats(0, 1_000),
        size=st.integers(1, 100),
        held=st.booleans(),
    ),
    max_size=20,
    unique_by=lambda one: one.ref_id,
)


@given(kept, st.floats(1, 1_000), st.integers(0, 600), st.floats(0, 2_000))
def test_nothing_that_is_held_leaves_and_the_quota_is_kept_by_the_oldest(
    all_: list[Kept], ttl: float, quota: int, now: float
) -> None:
    expired, crowded = leaving(all_, Retention(ttl, quota, 0.0), now)
    gone = [*expired, *crowded]
    assert not any(one.held for one in gone)
    assert len({one.ref_id for one in gone}) == len(gone)
    assert all((one in expired) == (not one.held and now - one.offloaded_at > ttl) for one in all_)
    stay = [one for one in all_ if one not in gone]
    if quota and any(not one.held for one in stay):
        assert sum(one.size for one in stay) <= quota
    if crowded:
        assert max(one.offloaded_at for one in crowded) <= min(
            [one.offloaded_at for one in stay if not one.held], default=1e9
        )
        assert sum(one.size for one in [*stay, crowded[-1]]) > quota


def test_without_bounds_everything_stays() -> None:
    assert leaving([Kept("s", "c", 0.0, 10**12)], Retention(0.0, 0, 0.0), 1e12) == ([], [])


def test_a_folder_says_what_is_in_it_and_what_is_damaged(tmp_path: Path) -> None:
    for n in range(3):
        offloads.keep(tmp_path, "s-1", f"c{n}", "x" * n * 1_000, now=float(n))
    offloads.pin(tmp_path, "s-1", "c1", pinned=True)
    (tmp_path / "tool-offload" / "s-1" / "broken.json").write_text("{")
    found, bad = retention.found(tmp_path, "s-1", frozenset({"c2"}))
    assert sorted((one.ref_id, one.held) for one in found) == [("c0", False), ("c1", True), ("c2", True)]
    assert bad == ["broken.json"]
    assert retention.used(tmp_path) == sum(one.size for one in found) + 1
    assert retention.set_aside(tmp_path, "s-1", "broken.json")
    assert (tmp_path / "tool-offload" / "s-1" / "broken.json.damaged").read_text() == "{"
    assert retention.found(tmp_path, "s-1", frozenset())[1] == []
    assert retention.sessions(tmp_path) == ["s-1"]
    freed = [retention.remove(tmp_path, one) for one in found]
    assert (freed, retention.remove(tmp_path, found[0])) == ([one.size for one in found], 0)


def test_a_session_without_results_has_no_folder(tmp_path: Path) -> None:
    offloads.keep(tmp_path, "s-1", "c", "x", now=1.0)
    ((one,), _) = retention.found(tmp_path, "s-1", frozenset())
    retention.remove(tmp_path, one)
    assert retention.sessions(tmp_path) == []


def test_a_folder_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    outside, geode = tmp_path / "outside", tmp_path / ".geode"
    (outside / "s-1").mkdir(parents=True)
    (outside / "s-1" / "notes.json").write_text("{}")
    geode.mkdir()
    (geode / "tool-offload").symlink_to(outside)
    assert retention.sessions(geode) == []
    assert retention.used(geode) == 0
