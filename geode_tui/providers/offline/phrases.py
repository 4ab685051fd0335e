"""The planner's sentences, English and Korean. Each says only what is being done; variants differ in wording alone."""

from __future__ import annotations

from typing import Final

from geode_tui.providers.offline.board import hash_of

_SAY: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "find": (
        ("Locating {0} first.", "Looking up where {0} is.", "Finding the path of {0}."),
        ("먼저 {0}의 위치를 확인합니다.", "찾을 대상: {0}. 경로부터 확인합니다."),
    ),
    "read": (
        ("Reading {0}.", "Opening the first part of {0}.", "Next: {0}."),
        ("다음을 읽습니다: {0}.", "{0}의 앞부분을 봅니다."),
    ),
    "read_whole": (
        ("Reading all of {0}.", "Reading {0} to the end, as asked."),
        ("{0} 전체를 읽습니다.", "요청대로 끝까지 읽습니다: {0}."),
    ),
    "look_further": (
        (
            "Looking in the rest of {0} for what the prompt is about.",
            "{0} goes on; searching the rest for the prompt's words.",
        ),
        ("{0}의 나머지에서 관련 줄을 찾습니다.",),
    ),
    "around": (
        (
            "Reading around the best hits: {0}.",
            "Checking the context of the hits in {0}.",
            "Looking at what surrounds the hits in {0}.",
        ),
        ("찾은 줄의 앞뒤를 읽습니다: {0}.", "{0}에서 찾은 줄의 문맥을 확인합니다."),
    ),
    "search": (
        ("Searching for {0}.", "Searching the project for {0}.", "Where does {0} occur?"),
        ("{0} 검색.", "프로젝트에서 찾습니다: {0}."),
    ),
    "search_loose": (
        (
            "Nothing so far; searching more loosely for {0}.",
            "No hit yet for {0}: trying parts of it, in any letter case.",
        ),
        ("아직 찾지 못해 더 느슨하게 찾습니다: {0}.",),
    ),
    "first_look": (
        (
            "Nothing to go by in the prompt's words; listing the project instead.",
            "No word of the prompt occurs; looking at what there is.",
        ),
        ("질문의 낱말로는 단서가 없어 프로젝트 목록부터 봅니다.",),
    ),
    "list": (("Listing {0}.", "Getting the layout of {0}."), ("{0} 목록을 봅니다.", "{0}의 구성을 확인합니다.")),
    "introductions": (
        ("Reading what introduces the project: {0}.", "Starting with the introductions: {0}."),
        ("소개가 되는 파일부터 읽습니다: {0}.",),
    ),
    "sources": (
        ("Next files: {0}.", "Going on with {0}.", "Reading on, folder by folder: {0}."),
        ("다음 파일: {0}.", "이어서 읽습니다: {0}.", "폴더를 차례로 봅니다: {0}."),
    ),
    "in_order": (
        ("Next in order: {0}.", "Going on in order: {0}.", "Then {0}."),
        ("다음 차례: {0}.", "순서대로 이어서 읽습니다: {0}."),
    ),
    "continue": (("Reading the next part of {0}.", "Going further down {0}."), ("{0}의 다음 부분을 읽습니다.",)),
    "recurring": (
        ("{0} recurs in what was read; finding its uses.", "Following {0} through the files."),
        ("읽은 파일에 {0} 이름이 반복됩니다. 쓰이는 곳을 찾습니다.", "{0} 이름을 따라가 봅니다."),
    ),
    "compare": (
        ("Reading {0} side by side.", "Reading both: {0}."),
        ("나란히 읽습니다: {0}.", "비교할 대상을 읽습니다: {0}."),
    ),
    "find_command": (
        ("Looking for a manifest that tells how the tests are run.",),
        ("테스트 실행 방법을 알려 주는 파일을 찾습니다.",),
    ),
    "run": (("Running {0}.", "Executing {0} as asked."), ("실행합니다: {0}.", "요청한 명령을 실행합니다: {0}.")),
    "count": (("Counting by {0}.", "Counting what matches {0}."), ("세는 기준: {0}.",)),
    "write": (("Writing {0}.", "Saving to {0}."), ("{0} 파일을 씁니다.", "{0}에 저장합니다.")),
    "read_first": (
        ("{0} exists already; reading it before it is replaced.",),
        ("{0} 파일이 이미 있어 바꾸기 전에 읽습니다.",),
    ),
    "recall": (
        ("A result was stored outside the context; recalling it.", "Bringing an offloaded result back."),
        ("문맥 밖에 저장된 결과를 다시 불러옵니다.",),
    ),
    "closing": (
        ("All looked at; writing the report.", "That is everything; the report follows."),
        ("확인을 마치고 보고서를 씁니다.", "모두 확인했습니다. 보고서를 씁니다."),
    ),
}

OPENING: Final = ("No language model is answering here.", "여기서는 언어 모델이 답하지 않습니다.")
ABLE: Final = (
    (
        "What I can do: read named files, survey a project or folder, search for text, compare two files, "
        "run a command, count, and write a file."
    ),
    "할 수 있는 일: 이름을 댄 파일 읽기, 프로젝트나 폴더 조사, 검색, 두 파일 비교, 명령 실행, 개수 세기, 파일 쓰기.",
)
SIGNATURE: Final = (
    "Made by the offline planner; no language model was used.",
    "오프라인 플래너가 작성했습니다. 언어 모델은 쓰이지 않았습니다.",
)


def say(key: str, about: str, *, korean: bool, seed: int, turn: int) -> str:
    """The sentence for ``key``; the variant depends on ``seed`` and the number of the round alone."""
    variants = _SAY[key][korean]
    return variants[(seed + turn + hash_of(key, seed)) % len(variants)].format(
        about or ("이 부분" if korean else "this")
    )


def acknowledge(text: str, *, korean: bool) -> str:
    """The words by which an input typed while the turn ran is taken note of."""
    short = " ".join(text.split())
    short = short if len(short) <= 80 else short[:79] + "…"
    return f"확인했습니다: “{short}”." if korean else f"Noted: “{short}”."
