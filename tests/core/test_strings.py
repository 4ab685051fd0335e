"""The catalogues agree, every key that the program asks for is there, and no text breaks a terminal's columns."""

from __future__ import annotations

import re
import string
import unicodedata
from pathlib import Path

import pytest

from geode_tui.core.endings import Ending
from geode_tui.core.strings import NAMES, Strings, catalogue, en, ko, language_of
from geode_tui.core.strings.en import CATALOGUE as EN
from geode_tui.core.strings.ko import CATALOGUE as KO

SOURCE = Path(__file__).parents[2] / "geode_tui"
CATALOGUES = {language: catalogue(language) for language in NAMES}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_catalogues_have_the_same_keys() -> None:
    assert EN.keys() == KO.keys()


def test_a_key_takes_the_same_values_in_both_languages() -> None:
    assert [key for key in EN if placeholders(EN[key]) != placeholders(KO[key])] == []


def test_every_literal_key_in_the_source_exists() -> None:
    asked = {
        match[1]
        for path in SOURCE.rglob("*.py")
        for match in re.finditer(r"""\bt\(\s*["']([a-z_]+\.[a-z_0-9]+)["']""", path.read_text(encoding="utf-8"))
    }
    assert len(asked) > 50
    assert asked <= EN.keys()


def test_every_ending_has_words() -> None:
    assert {f"ending.{ending}" for ending in Ending} <= EN.keys()


def test_no_text_holds_a_character_of_ambiguous_or_double_width_but_korean() -> None:
    for language, texts in CATALOGUES.items():
        for key, text in texts.items():
            for char in text:
                wide = unicodedata.east_asian_width(char) in "AWF"
                hangul = language == "ko" and "\uac00" <= char <= "\ud7a3"
                assert not wide or hangul, (language, key, char)


def test_texts_are_calm_and_plain() -> None:
    for texts in CATALOGUES.values():
        for key, text in texts.items():
            assert "!" not in text, key
            assert text == text.strip(), key


def test_values_are_put_in() -> None:
    assert Strings("en").t("error.worker", n=31) == "The worker stopped at round 31. enter resumes"
    assert Strings("ko").t("round.n", n=37) == "37라운드"


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError):
        Strings("en").t("no.such_key")


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LC_MESSAGES": "ko_KR.UTF-8", "LANG": "en_US.UTF-8"}, "ko"),
        ({"GEODE_LANG": "ko", "LC_ALL": "en_US.UTF-8"}, "ko"),
        ({"GEODE_LANG": "", "LANG": "KO"}, "ko"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_first_variable_that_is_set_decides_the_language(environ: dict[str, str], language: str) -> None:
    assert language_of(environ) == language


def test_no_key_stands_in_two_subjects() -> None:
    for package in (en, ko):
        subjects = [module for module in vars(package).values() if hasattr(module, "TEXTS")]
        assert sum(len(subject.TEXTS) for subject in subjects) == len(package.CATALOGUE)
