"""How requests are worded, English and Korean: verbs, stops, filters, ranges, and files known by name alone."""

from __future__ import annotations

import re
from typing import Final

_FAMILIES: Final = (
    ("compare", r"\b(?:compare|diff|differences? between|contrast|differs? from)\b|\bvs\b", "비교|차이|다른 ?점"),
    (
        "count",
        r"\b(?:how many|count|number of)\b",
        "몇 ?(?:개|줄|번|행|가지)|개수|갯수|세어|세 ?줘",
    ),
    ("run", r"\b(?:run|execute|launch)\b", "실행|돌려|돌리"),
    (
        "write",
        r"\b(?:write|create|save|record|store|jot|note (?:down|in|to|that)|make a (?:note|file))\b",
        "작성|저장|적어|기록|만들|써 ?(?:줘|주|라|놔|넣)|[에로] ?써",
    ),
    (
        "search",
        (
            r"\b(?:search(?:ing)?|find|grep|locate|look(?:ing)? for|where|which files?|usages? of|uses of|who calls|"
            r"what calls)\b"
        ),
        "찾|검색|어디|사용처|쓰이는|쓰는 곳",
    ),
    (
        "survey",
        (
            r"\b(?:survey|overview|explore|tour|get to know|familiari[sz]e|study|investigate|analy[sz]e|audit|"
            r"architecture)\b"
        ),
        "조사|훑|살펴|살피|둘러|개요|파악|탐색|분석|구조",
    ),
    (
        "read",
        (
            r"\b(?:read|open|show|display|print|look (?:at|into|over|through)|view|go through|explain|describe|"
            r"summari[sz]e|review|check|examine|inspect|quote|walk (?:me )?through|tell me)\b"
        ),
        "읽|보여|열어|설명|요약|알려|검토|확인|인용|봐|보고",
    ),
)
VERBS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(f"{english}|{korean}", re.IGNORECASE)) for kind, english, korean in _FAMILIES
)
"""Verb families, the more specific first: at one position the first family wins."""

WHOLE: Final = re.compile(
    r"\b(?:whole|entire|all of|full|fully|complete|completely|every line)\b"
    r"|전체|전부|통째|끝까지|모두|빠짐없이",
    re.IGNORECASE,
)
WRAP_UP: Final = re.compile(
    r"\b(?:wrap (?:it |this )?up|that'?s enough|finish (?:up|now)|stop (?:here|now|and)|conclude|enough for now)\b"
    r"|\bstop\s*[.!]?\s*$"
    r"|^\s*(?:stop|enough)\b(?! reading)|그만|마무리|여기까지|이제 됐|중단하고",
    re.IGNORECASE,
)
EACH: Final = re.compile(
    r"\b(?:one (?:after another|after the other|by one)|file by file)\b|하나씩|한 ?파일씩|차례대로|순서대로",
    re.IGNORECASE,
)
"""Every file in its turn, to the last."""
PROJECT: Final = re.compile(
    r"\b(?:project|repo|repository|code ?base|source tree|workspace|monorepo)\b"
    r"|프로젝트|저장소|레포|코드 ?베이스|소스 ?전체",
    re.IGNORECASE,
)
EXCLUDE_BEFORE: Final = re.compile(
    r"\b(?:stop (?:reading|looking at|with)|skip(?:ping)?|don'?t (?:read|look at|open)|do not (?:read|look at|open)|"
    r"without|ignor(?:e|ing)|exclud(?:e|ing)|except(?: for)?|leave out|not the)\s+(?:any\s+|the\s+|all\s+)?$",
    re.IGNORECASE,
)
EXCLUDE_AFTER: Final = re.compile(
    r"^\s*(?:files?|folders?|디렉터리|폴더|파일|코드)?\s*(?:[은는을를도]|들은)?\s*(?:빼|제외|말고|건너뛰|읽지|무시|보지)"
)
ONLY_BEFORE: Final = re.compile(
    r"\b(?:only|just|focus on|concentrate on|stick to)\s+(?:read\s+|look at\s+|in\s+|the\s+|on\s+)*$", re.IGNORECASE
)
ONLY_AFTER: Final = re.compile(
    r"^\s*(?:files?|folders?|폴더|파일|쪽)?\s*(?:만(?=[\s,.을봐읽보]|$)|\bonly\b)", re.IGNORECASE
)
FOLLOW_UP: Final = re.compile(
    r"^\s*(?:and|also|what about|how about|same for|then|ok,? and)\b"
    r"|^\s*(?:그럼|그러면|그리고|그렇다면|또)|(?:는|은)\s*[?？]\s*$",
    re.IGNORECASE,
)
BACK_REFERENCE: Final = re.compile(
    r"\b(?:it|its|that (?:file|one)|this file|those|them|the same|there)\b|그 ?파일|그것|그거|거기|이 ?파일|같은",
    re.IGNORECASE,
)
ROUNDS: Final = re.compile(r"(\d{1,4})\s*(?:-\s*)?(?:rounds?|라운드|steps?\b|단계|회\b|번 ?동안)", re.IGNORECASE)
RANGES: Final = (
    re.compile(r"\b(?:lines?|줄)\s*(\d{1,7})\s*(?:-|–|~|\.\.|to|through|부터|에서)\s*(\d{1,7})", re.IGNORECASE),
    re.compile(r"(\d{1,7})\s*(?:행|줄)?\s*(?:-|–|~|부터|에서)\s*(\d{1,7})\s*(?:번째\s*)?(?:행|줄)(?:까지)?"),
)
FIRST_LINES: Final = re.compile(
    r"\bfirst\s+(\d{1,6})\s+lines?\b"
    r"|(?:첫|처음|앞|맨 ?앞)\s*(?:의\s*)?(\d{1,6})\s*(?:줄|행)|\btop\s+(\d{1,6})\s+lines?\b",
    re.IGNORECASE,
)
ONE_LINE: Final = re.compile(
    r"\bline\s+(\d{1,7})\b(?!\s*(?:-|–|~|to\b|through\b))|(?<![\d~\-–])(\d{1,7})\s*번째?\s*(?:줄|행)", re.IGNORECASE
)
TESTS: Final = re.compile(r"\b(?:tests?|test ?suite|unit tests?)\b|테스트", re.IGNORECASE)
CONTENT: Final = re.compile(
    r"\b(?:with (?:the )?(?:text|content|contents|line|words?)|containing|that says|saying|that|with)\b"
    r"|내용(?:은|으로|을|:)?|라고|이라고",
    re.IGNORECASE,
)
"""What comes before the content of a file to be written."""
NAMES: Final = re.compile(
    r"(?<![\w./\-])(?:(?i:readme|changelog|license|licence|contributing|dockerfile|makefile|gemfile|rakefile|procfile|justfile"
    r"|vagrantfile|jenkinsfile|codeowners)|NOTICE|AUTHORS|SECURITY|HISTORY|INSTALL|CHANGES|AGENTS|CLAUDE)(?![A-Za-z0-9_\-/]|\.[A-Za-z])"
)
"""Files known by their name alone."""
FINDINGS: Final = re.compile(
    r"\s*(?:a |an |the )?(?:short |brief )?(?:summary|report|overview|findings|list|요약|보고)", re.IGNORECASE
)
EDITS: Final = re.compile(
    r"(?:^|[.;\n]\s*|\b(?:please|then|and)\s+)(?:rename|add|fix|refactor|implement|change|replace|delete|remove|edit|update"
    r"|modify)\b|고쳐|수정해|추가해|바꿔|삭제해|지워|구현해|리팩터",
    re.IGNORECASE,
)
"""Requests to change code, which only a model could do."""
BARE_TERM: Final = re.compile(
    r"(?:search for|look for|grep(?: for)?|find|locate|where(?:'s| is| are)?)\s+(?:the\s+)?(?:word\s+)?"
    r"([A-Za-z_]\w{2,})"
    r"\s*(?:[.,?!]|$|\b(?:in|defined|used|declared|set|called)\b)",
    re.IGNORECASE,
)
BARE_TERM_KO: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]{2,})\s*(?:을|를|이|가|은|는)?\s*(?:찾|검색|어디)")
