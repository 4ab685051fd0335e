"""Small projects of several shapes, made in a temporary folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

PYTHON: Final = {
    "README.md": "# Ledger\n\nKeeps accounts in a file.\n\n## Usage\n\nRun `ledger add`.\n",
    "pyproject.toml": '[project]\nname = "ledger"\nversion = "1.2.0"\ndependencies = [\n  "attrs>=23",\n]\n',
    "src/ledger/__init__.py": '"""Accounts in a file."""\n',
    "src/ledger/store.py": (
        '"""The store."""\n\nfrom ledger.entry import Entry\n\nRETRY_LIMIT = 3\n\n\nclass EntryStore:\n'
        '    """Keeps entries."""\n\n    def save_entry(self, entry: Entry) -> None:\n        """Save one."""\n'
        "        self.entries.append(entry)\n\n    def load_entries(self) -> list[Entry]:\n"
        "        return self.entries\n"
    ),
    "src/ledger/entry.py": 'class Entry:\n    """One booking."""\n\n    amount: int\n',
    "src/ledger/cli.py": (
        "from ledger.store import EntryStore\n\n\ndef main() -> int:\n    store = EntryStore()\n    return 0\n"
    ),
    "tests/test_store.py": "def test_save_entry():\n    assert True\n",
    "docs/design.md": "# Design\n\nEntries are appended, never changed.\n",
    "setup.py": "from setuptools import setup\n\nsetup()\n",
}
SCRIPTS: Final = {
    "package.json": '{\n  "name": "mono",\n  "workspaces": ["packages/*"]\n}\n',
    "README.md": "# Mono\n\nTwo packages.\n",
    "packages/ui/package.json": '{\n  "name": "@mono/ui",\n  "version": "1.0.0"\n}\n',
    "packages/ui/src/index.ts": "export function startUi(port: number) {\n  return port + timeout;\n}\n",
    "packages/ui/src/[id].tsx": "export default function Page() { return null }\n",
    "packages/server/package.json": '{\n  "name": "@mono/server",\n  "version": "1.0.0"\n}\n',
    "packages/server/src/index.ts": "export function startServer(port: number) {\n  return port * timeout;\n}\n",
}
CRATE: Final = {
    "Cargo.toml": '[package]\nname = "cratey"\nversion = "0.1.0"\n',
    "src/lib.rs": "//! A cache.\npub struct Cache {\n    size: usize,\n}\n\npub fn grow(cache: &mut Cache) {}\n",
    "src/main.rs": 'fn main() {\n    println!("no cache yet");\n}\n',
    "tests/cache.rs": "#[test]\nfn grows() {}\n",
}
DOCS: Final = {
    "안내서.md": "# 설치 안내\n\n프로그램을 설치하는 방법입니다.\n\n## 설정\n\n설정 파일은 config.yaml 입니다.\n",
    "문서/사용자 설명서.md": "# 사용자 설명서\n\n로그인한 다음 비용을 확인합니다.\n",
    "문서/변경 기록.txt": "2024-01-01 첫 배포\n2024-02-01 오류 수정\n",
}
SHAPES: Final = {"python": PYTHON, "scripts": SCRIPTS, "crate": CRATE, "docs": DOCS, "empty": {}}


def make(root: Path, files: Mapping[str, str]) -> Path:
    """Write ``files`` below ``root``."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def make_large(root: Path, folders: int, files: int) -> Path:
    """A tree of ``folders`` times ``files`` small modules that mention each other's names."""
    for folder in range(folders):
        for number in range(files):
            body = f"def handle_case_{number}(value):\n    return shared_helper_{folder}(value)\n"
            make(root, {f"pkg{folder}/mod{number}.py": body})
    return root
