"""Korean texts of dreaming, sorted by key."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "command.approve": "확인",
    "command.dream": "꿈",
    "command.forget": "잊기",
    "dreaming.forgotten": "잊음",
    "dreaming.health": "마지막 꿈 {at}, 쓴 쪽: {by}, 메시지 {upto}까지. 그 뒤 메시지 {lag}개, 꿈 비용 {cost}",
    "dreaming.local": "프로그램",
    "dreaming.marked": "근거 없는 줄 {count}개",
    "dreaming.none": "아직 꿈이 없음, 메시지 {lag}개",
    "slash.dream": "/dream은 now만 받습니다: /dream now",
    "slash.help_dream": "지금 꿈꾸기: 나중에도 알아야 할 것을 적어 두기",
}
