"""The closing report: what was found, quoted from the files, in the prompt's language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from geode_tui.providers.offline import lexicon, phrases
from geode_tui.providers.offline.board import Board
from geode_tui.providers.offline.evidence import Step, grep_hits
from geode_tui.providers.offline.mentions import scan
from geode_tui.providers.offline.moves import best_hits, hits_of, targets_of
from geode_tui.providers.offline.quotes import block, choose, lines_of, true_hits
from geode_tui.providers.offline.tasks import Task

LEVELS: Final = (8, 4, 2, 1)
"""Quotes a section may have, tried in this order until the report fits its limit."""
_OUTPUT_LINES: Final = 20


class Reporter:
    """Writes the report of one turn. ``quotes`` bounds the quotes of a section."""

    def __init__(self, board: Board, tasks: Sequence[Task], quotes: int) -> None:
        self._board = board
        self._tasks = tasks
        self._most = quotes
        self._korean = board.wish.korean
        self._missing: list[str] = []

    def text(self, *, stopped: bool = False) -> str:
        """The whole report, Markdown. ``stopped`` says that it was cut short by a limit or by the person."""
        parts = [self._opening()]
        parts += self.sections()
        parts.append(self._undone(stopped))
        parts.append(phrases.SIGNATURE[self._korean])
        return "\n\n".join(p for p in parts if p)

    def sections(self) -> list[str]:
        """One section a task that has something to show."""
        makers: dict[str, Callable[[Task], str]] = {
            "read": self._read,
            "search": self._search,
            "ask": self._search,
            "survey": self._survey,
            "each": self._survey,
            "compare": self._compare,
            "run": self._run,
            "count": self._count,
            "write": self._write,
        }
        return [text for task in self._tasks if (text := makers[task.kind](task))]

    def document(self, title: str) -> str:
        """The findings as a file's content."""
        sections = [s for s in self.sections() if s]
        body = "\n\n".join(sections) or self._("Nothing was found.", "찾은 것이 없습니다.")
        return f"# {title}\n\n{body}\n\n{phrases.SIGNATURE[self._korean]}\n"

    def _(self, english: str, korean: str) -> str:
        return korean if self._korean else english

    def _opening(self) -> str:
        counts = Counter(s.name for s in self._board.turn.steps if s.result is not None and not s.is_error)
        files = len({s.path for s in self._board.steps("read_file") if s.result is not None and not s.is_error})
        files += self._board.earlier.files
        searches = counts["grep"] + counts["glob"] + counts["list_dir"]
        did = self._(
            f"{_plural(files, 'file')} read, {_plural(searches, 'search or listing', 'searches and listings')} made, "
            f"in {_plural(self._board.rounds, 'round')}.",
            f"{self._board.rounds}라운드 동안 파일 {files}개를 읽고 검색과 목록 조회를 {searches}번 했습니다.",
        )
        if all(t.kind == "ask" for t in self._tasks):
            lead = f"{phrases.OPENING[self._korean]} {phrases.ABLE[self._korean]}"
            return f"{lead}\n\n{did}" if self._board.turn.rounds else lead
        return did

    def _heading(self, english: str, korean: str) -> str:
        return f"## {self._(english, korean)}"

    def _size(self, path: str) -> str:
        shown, total = len(self._board.lines.get(path, {})), self._board.totals.get(path)
        if total is None or total <= shown:
            return self._(_plural(shown, "line"), f"{shown}줄")
        return self._(f"{shown} of {total} lines read", f"전체 {total}줄 중 {shown}줄 읽음")

    def _read(self, task: Task) -> str:
        paths, _ = targets_of(task, self._board)
        self._note_missing(task)
        parts: list[str] = []
        for path in paths:
            lines = lines_of(self._board, path)
            if not lines:
                note = self._plain_result(path)
                parts += [f"## `{path}`\n\n{note}"] if note else []
                continue
            if task.ranges:
                lines = [x for x in lines if any(a <= x.number <= b for a, b in task.ranges)]
            chosen = choose(lines, task, self._most)
            parts.append(f"## `{path}` ({self._size(path)})\n\n{block(chosen)}".rstrip())
        return "\n\n".join(parts)

    def _plain_result(self, path: str) -> str:
        """What a read said that showed no lines: an empty or binary file, or a result no longer in view."""
        step = next((s for s in reversed(self._board.steps("read_file")) if s.path == path and s.result), None)
        if step is None or step.is_error or step.result is None:
            return ""
        if re.fullmatch(r"\[(?:empty file|binary [^\]]*)\]", step.result.strip()):
            return self._("The tool says: ", "도구의 답: ") + f"`{step.result.strip()}`"
        return self._("Read; its text is no longer in view.", "읽었지만 그 내용은 더 이상 보이지 않습니다.")

    def _note_missing(self, task: Task) -> None:
        for target in task.targets:
            if target.weak or target.kind == "glob":
                continue
            known = (
                bool(self._board.find_folder(target.text)[0])
                if target.kind == "folder"
                else bool(self._board.find(target)[0])
            )
            if not known and target.text not in self._missing:
                self._missing.append(target.text)

    def _search(self, task: Task) -> str:
        about = ", ".join(f"`{t}`" for t in (*task.terms, *(() if task.terms else task.words))[:5])
        hits = true_hits(self._board, hits_of(task, self._board))
        if not about:
            return self._looked(task)
        title = self._heading(f"Search: {about}", f"검색: {about}")
        if not hits:
            nothing = self._(
                f"No line of the files searched matches {about}.", f"검색한 파일에서 {about}와 맞는 줄이 없습니다."
            )
            names = [
                p for p in self._board.sizes if any(w.casefold() in p.casefold() for w in (*task.terms, *task.words))
            ][:5]
            named = (
                self._("Files of such a name: ", "이름이 맞는 파일: ") + ", ".join(f"`{p}`" for p in names)
                if names
                else ""
            )
            return "\n\n".join(p for p in (title, nothing, named, self._looked(task)) if p)
        files = Counter(h.path for h in hits)
        where = ", ".join(f"`{p}` ({n})" for p, n in sorted(files.items(), key=lambda x: (-x[1], x[0]))[:6])
        summary = self._(
            f"{_plural(len(hits), 'matching line')} in {_plural(len(files), 'file')}: {where}.",
            f"파일 {len(files)}개에서 {len(hits)}줄이 맞습니다: {where}.",
        )
        best = best_hits(hits, task)[: self._most]
        chosen = choose(best, task, self._most) or choose(hits, task, self._most)
        context = [line for path in {h.path for h in best[:3]} for line in lines_of(self._board, path)]
        extra = [x for x in choose(context, task, self._most // 2) if x not in chosen]
        quoted = sorted([*chosen, *extra], key=lambda x: (x.path, x.number))
        return f"{title}\n\n{summary}\n\n{block(quoted)}"

    def _looked(self, task: Task) -> str:
        """What a look at the project itself showed."""
        names = sorted({*(f + "/" for f in self._board.folders), *self._board.sizes}, key=lambda p: (p.count("/"), p))[
            :12
        ]
        listed = any(s.name == "list_dir" and s.result is not None and not s.is_error for s in self._board.turn.steps)
        if not names:
            return self._("The project has no files.", "프로젝트에 파일이 없습니다.") if listed else ""
        lines = [line for path in sorted(self._board.lines) for line in lines_of(self._board, path)]
        shown = self._("In the project: ", "프로젝트에 있는 것: ") + ", ".join(f"`{n}`" for n in names)
        return f"{shown}\n\n{block(choose(lines, task, self._most))}".rstrip()

    def _survey(self, task: Task) -> str:
        self._note_missing(task)
        where = task.folder or self._("the project", "프로젝트")
        read = [p for p in sorted(self._board.lines) if self._board.lines[p]]
        title = self._heading(f"Survey of {where}", f"{where} 조사")
        if not self._board.sizes and not read:
            return (
                f"{title}\n\n{self._('No files were found.', '파일을 찾지 못했습니다.')}"
                if self._board.turn.steps
                else ""
            )
        kinds = Counter(p.rsplit(".", 1)[-1] for p in self._board.sizes if "." in p.rsplit("/", 1)[-1])
        common = ", ".join(f".{k} {n}" for k, n in sorted(kinds.items(), key=lambda x: (-x[1], x[0]))[:5])
        facts = self._(
            f"{_plural(len(self._board.sizes), 'file')} listed ({common}); {len(read)} read.",
            f"목록에 있는 파일 {len(self._board.sizes)}개({common}), 읽은 파일 {len(read)}개.",
        )
        ranked = sorted(read, key=lambda p: (p.count("/"), -len(self._board.lines[p]), p))
        quotes = [
            q
            for p in ranked[: self._most * 2]
            for q in choose(lines_of(self._board, p), task, 2 if self._most > 2 else 1)
        ]
        parts = (title, facts if common else "", self._recurring(), block(quotes))
        return "\n\n".join(part for part in parts if part)

    def _recurring(self) -> str:
        found = []
        for step in self._board.steps("grep"):
            hits = grep_hits(step.result or "")
            name = str(step.args.get("pattern", "")).replace("\\b", "")
            if hits:
                found.append(f"`{name}` ({len(hits)}, {len({h.path for h in hits})})")
        if not found:
            return ""
        return self._("Names that recur (lines, files): ", "반복되는 이름(줄, 파일): ") + ", ".join(found[:8]) + "."

    def _compare(self, task: Task) -> str:
        self._note_missing(task)
        if all(t.kind == "folder" for t in task.targets):
            return self._compare_folders(task)
        paths = [p for p in targets_of(task, self._board)[0] if self._board.lines.get(p)]
        if len(paths) < 2:
            return "\n\n".join(
                f"## `{p}`\n\n{block(choose(lines_of(self._board, p), task, self._most))}" for p in paths
            )
        a, b = paths[0], paths[1]
        texts = [{x.text.strip() for x in lines_of(self._board, p) if len(x.text.strip()) > 3} for p in (a, b)]
        shared = texts[0] & texts[1]
        names = [set(re.findall(r"[A-Za-z_]\w{3,}", " ".join(t))) for t in texts]
        parts = [self._heading(f"`{a}` and `{b}`", f"`{a}` 와 `{b}`")]
        same, first, second = len(names[0] & names[1]), len(names[0] - names[1]), len(names[1] - names[0])
        parts.append(
            self._(
                f"{self._size(a)} against {self._size(b)}; {_plural(len(shared), 'line')} and {_plural(same, 'name')} "
                f"in both, {_plural(first, 'name')} only in the first, {second} only in the second.",
                f"{self._size(a)} 대 {self._size(b)}. 같은 줄 {len(shared)}개, 같은 이름 {same}개, "
                f"첫째에만 있는 이름 {first}개, 둘째에만 있는 이름 {second}개.",
            )
        )
        both = [
            x
            for p in (a, b)
            for x in choose((x for x in lines_of(self._board, p) if x.text.strip() in shared), task, self._most // 2)
        ]
        if both:
            parts += [self._("In both:", "양쪽에 있는 줄:"), block(both)]
        for path in (a, b):
            own = choose(
                (x for x in lines_of(self._board, path) if x.text.strip() not in shared), task, max(1, self._most // 2)
            )
            if own:
                parts += [self._(f"Only in `{path}`:", f"`{path}`에만 있는 줄:"), block(own)]
        return "\n\n".join(parts)

    def _compare_folders(self, task: Task) -> str:
        folders = [p for t in task.targets if (p := self._board.find_folder(t.text)[0]) is not None][:2]
        if len(folders) < 2:
            return ""
        inside = [{p.removeprefix(f"{f}/") for p in self._board.sizes if p.startswith(f"{f}/")} for f in folders]
        title = self._heading(f"`{folders[0]}` and `{folders[1]}`", f"`{folders[0]}` 와 `{folders[1]}`")
        lists = [("In both", "양쪽에 있음", inside[0] & inside[1])]
        lists += [
            (f"Only in `{f}`", f"`{f}`에만 있음", mine - other)
            for f, mine, other in zip(folders, inside, inside[::-1], strict=True)
        ]
        rows = [f"* {self._(e, k)} ({len(s)}): " + ", ".join(f"`{n}`" for n in sorted(s)[:10]) for e, k, s in lists]
        return f"{title}\n\n" + "\n".join(rows)

    def _run(self, task: Task) -> str:
        steps = [s for s in self._board.steps("run_shell") if not task.command or s.args.get("command") == task.command]
        if not steps:
            return ""
        step = steps[-1]
        command = str(step.args.get("command", "")).splitlines()[0]
        title = self._heading(f"Ran `{command}`", f"실행: `{command}`")
        if step.result is None:
            return f"{title}\n\n{self._('It has no result.', '결과가 없습니다.')}"
        lines = step.result.rstrip().split("\n")
        exit_line = re.fullmatch(r"\[exit (-?\d+)\]", lines[-1])
        if step.is_error and exit_line is None and len(lines) == 1:
            return ""
        if step.is_error and exit_line is None:
            title = self._heading(f"Not finished: `{command}`", f"마치지 못함: `{command}`")
        status = "" if step.is_error and exit_line is None else f"exit {exit_line.group(1) if exit_line else 0}. "
        shown = lines if len(lines) <= _OUTPUT_LINES else [*lines[:5], "...", *lines[5 - _OUTPUT_LINES :]]
        said = self._(f"{status}Output ({_plural(len(lines), 'line')}):", f"{status}출력({len(lines)}줄):")
        # A block quote, not a fence: output may itself look like a quotation of a file.
        return f"{title}\n\n{said}\n\n" + "\n".join(f"> {x[:300]}" for x in shown)

    def _count(self, task: Task) -> str:
        if task.targets:
            self._note_missing(task)
            paths, _ = targets_of(task, self._board)
            rows = [
                f"* `{p}`: " + self._(_plural(n, "line"), f"{n}줄")
                for p in paths
                if (n := self._board.totals.get(p)) is not None
            ]
            quotes = [q for p in paths for q in choose(lines_of(self._board, p), task, 2)]
            return f"{self._heading('Lines', '줄 수')}\n\n" + "\n".join(rows) + f"\n\n{block(quotes)}" if rows else ""
        name = "glob" if task.glob else "grep"
        steps = [s for s in self._board.steps(name) if s.result is not None and not s.is_error]
        if not steps:
            return ""
        figure = _counted(steps[-1])
        pattern = str(steps[-1].args.get("pattern", ""))
        where = str(steps[-1].args.get("path", "."))
        pattern += "" if where == "." else self._(f" in {where}", f" ({where})")
        what = self._("files match" if task.glob else "lines match", "개 파일" if task.glob else "줄")
        answer = f"**{figure}** {what} `{pattern}`." if not self._korean else f"`{pattern}`: **{figure}**{what}."
        quotes = choose(true_hits(self._board, hits_of(task, self._board)), task, self._most) if not task.glob else []
        names = ", ".join(f"`{p}`" for p in list(self._board.sizes)[:8]) if task.glob else ""
        return "\n\n".join(p for p in (self._heading("Count", "개수"), answer, names, block(quotes)) if p)

    def _write(self, task: Task) -> str:
        path = task.targets[0].text.removeprefix("./")
        steps = [s for s in self._board.steps("write_file") if s.path == path]
        if not steps or steps[-1].is_error or steps[-1].result is None:
            return ""
        return self._(f"Wrote `{path}`.", f"`{path}` 파일을 썼습니다.")

    def _elsewhere(self, step: Step) -> bool:
        """Whether a read that failed was made good by finding the file in another folder."""
        found = (p for p in self._board.sizes if p.endswith(f"/{step.path}"))
        return step.name == "read_file" and any(p in self._board.lines for p in found)

    def _undone(self, stopped: bool) -> str:
        rows = [self._(f"`{name}` was not found.", f"`{name}`: 찾지 못했습니다.") for name in self._missing]
        failures: dict[str, str] = {}
        for step in self._board.turn.steps:
            if self._elsewhere(step):
                continue
            if step.is_error and step.result is not None and not re.search(r"\[exit -?\d+\]\s*$", step.result):
                target = step.path or str(step.args.get("command", step.args.get("pattern", ""))).split("\n")[0][:60]
                failures[f"{step.name} `{target}`"] = " ".join(step.result.split())[:160]
        resolved = {
            f"write_file `{s.path}`" for s in self._board.steps("write_file") if not s.is_error and s.result is not None
        }
        rows += [f"{what}: {why}" for what, why in list(failures.items())[:6] if what not in resolved]
        rows += [
            self._(f"The tool {n} is not offered.", f"{n} 도구가 없습니다.")
            for n in sorted(self._board.unavailable - {"update_plan"})
        ]
        if self._board.wish.exclude:
            rows.append(
                self._("Left out as asked: ", "요청대로 뺀 것: ")
                + ", ".join(f"`{n}`" for n in dict.fromkeys(self._board.wish.exclude))
            )
        if self._board.wish.only:
            rows.append(
                self._("Kept to, as asked: ", "요청대로 이것만 봄: ")
                + ", ".join(f"`{n}`" for n in dict.fromkeys(self._board.wish.only))
            )
        partly = [p for p in sorted(self._board.longer) if self._board.lines.get(p)]
        if partly:
            rows.append(self._("Read in part: ", "일부만 읽음: ") + ", ".join(f"`{p}`" for p in partly[:6]))
        if lexicon.EDITS.search(scan(" ".join(self._board.turn.inputs))[0]) and not self._board.steps("write_file"):
            rows.append(
                self._(
                    "Nothing was changed: editing code needs a language model.",
                    "바꾼 것은 없습니다. 코드를 고치려면 언어 모델이 필요합니다.",
                )
            )
        if stopped:
            rows.append(self._("Stopped before everything was looked at.", "다 살펴보기 전에 멈췄습니다."))
        return f"{self._heading('Not done', '하지 않은 것')}\n\n" + "\n".join(f"* {r}" for r in rows) if rows else ""


def _counted(step: Step) -> str:
    """The figure a glob or grep result states: its own note if it was cut, else the lines."""
    text = step.result or ""
    note = re.search(r"\[(?:the newest \d+ of )?([\d,]+) (?:shown|match)", text)
    if note is not None:
        return note.group(1)
    return str(sum(1 for line in text.split("\n") if line.strip() and not line.startswith("[no file")))


def _plural(count: int, one: str, many: str = "") -> str:
    return f"{count} {one}" if count == 1 else f"{count} {many or one + 's'}"
