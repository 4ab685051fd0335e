"""Korean texts: MCP servers."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "command.mcp": "서버 재시작",
    "mcp.asks": "먼저 물어봄",
    "mcp.connected": "연결됨",
    "mcp.cost": "요청마다 {tokens} 토큰",
    "mcp.do_restart": "문제를 고친 뒤: /mcp restart {name}",
    "mcp.ended": "실행과 함께 종료됨",
    "mcp.error": "마지막 오류: {error}",
    "mcp.failed": "실패",
    "mcp.none": "이 실행에는 MCP 서버가 없습니다. config.toml의 [mcp.이름]으로 추가하세요.",
    "mcp.title": "MCP 서버",
    "mcp.tools": "도구 {n}개, {tokens} 토큰",
    "mcp.waiting": "연결 끊김, 곧 다시 시도",
    "slash.help_mcp": "MCP 서버와 도구 보기. restart 이름은 다시 연결",
    "slash.mcp": "/mcp는 그대로 쓰거나 restart와 서버 이름을 붙입니다",
}
