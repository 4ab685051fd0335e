"""Korean texts of the memory tiers, sorted by key."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "slash.context": "/context는 tiers만 받습니다: /context tiers",
    "tiers.added": "덧붙인 것",
    "tiers.empty": "비어 있어 쓰지 않음",
    "tiers.empty_other": "비어 있어 {tier} 값을 그대로 둠",
    "tiers.failed": "읽을 수 없음",
    "tiers.loaded": "읽음",
    "tiers.more": "{n}개 더 있음: context SESSION --tiers --json",
    "tiers.name_identity": "정체성",
    "tiers.name_organization": "조직",
    "tiers.name_profile": "사용자 프로필",
    "tiers.name_project": "프로젝트",
    "tiers.name_session": "세션",
    "tiers.not_sent": "모델에는 보내지 않습니다. 물어볼 때만 모아서 보여 줍니다.",
    "tiers.nothing": "없음",
    "tiers.replaced_other": "{tier} 값으로 바뀜",
    "tiers.summary": "요약",
    "tiers.summary_empty": "담을 내용 없음",
    "tiers.summary_size": "최대 {most}자 중 {n}자",
    "tiers.title": "메모리 계층",
    "tiers.used": "사용",
    "tiers.used_other": "{tier} 값 대신 사용",
}
