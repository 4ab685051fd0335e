"""What the adapters' tests have beside the rest."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test speaks TLS, and reading the machine's certificates takes longer than any of them."""
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
