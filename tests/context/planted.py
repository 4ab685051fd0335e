"""A history in which things are planted of which its summary keeps half, in other words, among work that is noise."""

from __future__ import annotations

import random
from typing import Literal

import msgspec

from geode_tui.context.view import Item
from geode_tui.core.events import LostKind
from geode_tui.core.messages import Message, user_text
from tests.context.talks import Talk, call


class Plant(msgspec.Struct, frozen=True):
    """``said`` stands in the history; ``needle`` is in the text of what is listed. ``kept`` are the summary's words for
    it, empty where it keeps none. ``by`` is who said it; an error comes as a failed command's output.
    """

    kind: LostKind
    needle: str
    said: str
    kept: str = ""
    by: Literal["user", "agent", "result", "call"] = "user"


LOST: tuple[Plant, ...] = (
    Plant("rule", "vendor folder", "Never change anything in the vendor folder."),
    Plant("rule", "force-push", "You must not force-push to the release branch."),
    Plant("rule", "docker compose", "Please don't start docker compose on this laptop, it has no memory left."),
    Plant("rule", "snapshot tests", "Whatever happens, always update the snapshot tests together with the template."),
    Plant("rule", "third-party", "New third-party packages must be approved by Jiwon first."),
    Plant("rule", "운영 데이터베이스", "절대 운영 데이터베이스에 직접 접속하지 마세요."),
    Plant("rule", "영수증", "영수증 번호는 반드시 열두 자리로 맞춰 주세요."),
    Plant("rule", "개인정보", "로그에 개인정보를 남기는 것은 금지입니다."),
    Plant("rule", "번역 문구", "번역 문구는 제가 확인하기 전에 바꾸지 마세요."),
    Plant("rule", "커밋 메시지", "커밋 메시지는 항상 한국어로 써야 합니다."),
    Plant("path", "services/ledger/rounding.py", "The bug was seen in services/ledger/rounding.py last week."),
    Plant("path", "infra/terraform/queues.tf", "I compare it with infra/terraform/queues.tf now.", by="agent"),
    Plant("path", "web/src/Checkout.tsx", "web/src/Checkout.tsx renders the total.", by="agent"),
    Plant("path", "/etc/ledger/limits.yaml", "The limits stand in /etc/ledger/limits.yaml on the host."),
    Plant("path", "scripts/replay_orders.sh", "scripts/replay_orders.sh", by="call"),
    Plant("path", "docs/adr/0031-rounding.md", "docs/adr/0031-rounding.md has the decision of May.", by="agent"),
    Plant("path", "fixtures/orders_2019.json", "fixtures/orders_2019.json 파일을 기준으로 비교해 주세요."),
    Plant("path", "Procfile.dev", "I wrote ops/Procfile.dev for it.", by="agent"),
    Plant("identifier", "quantize_half_even", "It calls quantize_half_even twice per line.", by="agent"),
    Plant("identifier", "LedgerSnapshot", "LedgerSnapshot has to stay immutable, as I said in the review."),
    Plant("identifier", "PAY-4821", "This belongs to PAY-4821."),
    Plant("identifier", "9f3c2ab71", "It worked at commit 9f3c2ab71.", by="agent"),
    Plant("identifier", "MAX_OPEN_ORDERS", "MAX_OPEN_ORDERS is read at import time.", by="agent"),
    Plant("identifier", "--dry-settle", "It is started with --dry-settle in the nightly job."),
    Plant("error", "database is locked", "sqlite3.OperationalError: database is locked", by="result"),
    Plant("error", "has no attribute 'cents'", "AttributeError: 'Money' object has no attribute 'cents'", by="result"),
    Plant("error", "ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:6399", by="result"),
    Plant("error", "no matching manifest", "fatal: no matching manifest for linux/arm64", by="result"),
    Plant("error", "E0502", "error[E0502]: cannot borrow `ledger` as mutable", by="result"),
    Plant("error", "잔액이 맞지 않습니다", "결제 화면에 이렇게 나옵니다. 오류: 잔액이 맞지 않습니다"),
    Plant("number", "340 ms", "The p95 of the old endpoint is 340 ms.", by="agent"),
    Plant("number", "2.5 GB", "The importer takes 2.5 GB at its peak."),
    Plant("number", "0.35 %", "The fee is 0.35 % of the amount."),
    Plant("number", "$1,250", "There is $1,250 left for this month."),
    Plant("number", "45분", "배치는 45분 안에 끝나야 정상입니다."),
    Plant("number", "180,000 rows", "The table has 180,000 rows so far.", by="agent"),
    Plant("question", "time zone", "Which time zone do the settlement dates have?"),
    Plant("question", "refunds", "How are partial refunds of gift cards booked?"),
    Plant("question", "소수점", "환율은 소수점 몇 자리까지 저장하나요?"),
    Plant("question", "retention", "Open question: retention of the audit export.", by="agent"),
)

KEPT: tuple[Plant, ...] = (
    Plant("rule", "migrations/", "Never touch the files under migrations/ without asking me first.",
          "Do not modify `migrations/` unless the person agrees"),
    Plant("rule", "main", "Don't commit directly to main.", "No direct commits to **main**"),
    Plant("rule", "tabs", "You must never use tabs for indentation.", "indentation: spaces, never tabs"),
    Plant("rule", "public API", "The public API must stay backwards compatible.",
          "The public API stays backwards compatible (a must)"),
    Plant("rule", "make lint", "Always run make lint before you finish.", "run `make lint` each time before finishing"),
    Plant("rule", "비밀 키", "비밀 키를 절대 저장소에 커밋하지 마세요.", "비밀 키를 저장소에 커밋 금지"),
    Plant("rule", "존댓말", "답변은 반드시 존댓말로 작성해 주세요.", "답변은 존댓말로 작성할 것"),
    Plant("rule", "legacy/", "legacy/ 폴더는 수정하지 마세요.", "legacy/ 는 건드리면 안 됨"),
    Plant("rule", "배포", "금요일 오후에는 배포하지 말아 주세요.", "금요일 오후 배포는 하지 않는다"),
    Plant("rule", "staging", "You must only deploy to staging.", "deploy to staging only, nothing else"),
    Plant("path", "core/money.py", "Start with core/money.py.", "core/money.py: read"),
    Plant("path", "core/tax.py", "core/tax.py comes after it.", "files core/{rates,tax}.py"),
    Plant("path", "src/api/routes.ts", "src/api/routes.ts has the handlers.", "`api/routes.ts`: the handlers", "agent"),
    Plant("path", "tests/test_invoice.py", "I run tests/test_invoice.py.", "in tests: test_invoice.py passes", "agent"),
    Plant("path", "config/app.toml", "config/app.toml sets the currency.", "config/app.toml: currency", "agent"),
    Plant("path", "~/.ledgerrc", "My own settings are in ~/conf/.ledgerrc.", "own settings: `~/conf/.ledgerrc`"),
    Plant("path", "Makefile.local", "build/Makefile.local", "see build/Makefile.local", "call"),
    Plant("path", "docs/plan.md", "docs/plan.md 를 먼저 읽어 주세요.", "docs/plan.md를 먼저 읽음"),
    Plant("identifier", "round_cents", "round_cents is the culprit.", "`round_cents()` is the culprit", "agent"),
    Plant("identifier", "InvoiceLine", "InvoiceLine gets a new field.", "new field of InvoiceLine.", "agent"),
    Plant("identifier", "INV-77", "The ticket is INV-770.", "ticket (INV-770)"),
    Plant("identifier", "4be1c09d", "The last good commit is 4be1c09d.", "good: 4be1c09d"),
    Plant("identifier", "LEDGER_URL", "LEDGER_URL has to be set.", "LEDGER_URL를 설정"),
    Plant("identifier", "--with-tax", "The flag is --with-tax.", "flag `--with-tax`", "agent"),
    Plant("error", "unsupported operand", "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
          "TypeError (unsupported operand types, int and str for +) in the sum", "result"),
    Plant("error", "ZeroDivisionError", "ZeroDivisionError: division by zero", "was: division by zero", "result"),
    Plant("error", "permission denied", "fatal: could not open lock file: permission denied",
          "git could not open the lock file, permission denied", "result"),
    Plant("error", "KeyError", "KeyError: 'vat_rate_reduced'", "KeyError 'vat_rate_reduced'", "result"),
    Plant("error", "E0308", "error[E0308]: mismatched types", "E0308 mismatched types", "result"),
    Plant("error", "인증", "오류: 인증 토큰이 만료되었습니다", "인증 토큰 만료 오류", "result"),
    Plant("number", "1,500 ms", "The timeout is 1,500 ms.", "timeout 1.5 s", "agent"),
    Plant("number", "12.5%", "The reduced rate is 12.5%.", "reduced rate 12.5 percent"),
    Plant("number", "64 KiB", "Requests over 64 KiB are refused.", "refused over 64KB", "agent"),
    Plant("number", "200k tokens", "The budget is 200k tokens.", "budget: 200,000 tokens"),
    Plant("number", "€480", "It costs €480.", "costs 480 EUR"),
    Plant("number", "30초", "재시도는 30초 간격입니다.", "재시도 간격 30 s"),
    Plant("question", "rounding mode", "Which rounding mode does the bank expect?",
          "open: the rounding mode that the bank expects"),
    Plant("question", "discounts", "Are discounts applied before the tax?", "unclear: discounts before or after tax"),
    Plant("question", "환불", "환불 수수료는 누가 부담하나요?", "환불 수수료 부담 주체 확인"),
    Plant("question", "currency", "Do we need a second currency this year?", "second currency this year: not answered"),
)  # fmt: skip

_CHATTER = (
    "I look at the next part.", "That is as expected, I go on.", "One more place to read.", "Now the other half.",
    "다음 부분을 봅니다.", "This looks right.", "좋습니다, 계속하겠습니다.", "I compare both versions.",
)  # fmt: skip
_ASIDES = ("Good, go on.", "Thank you.", "네, 계속하세요.", "Looks fine to me.", "Could you show me that part?")


def history(seed: int, rounds: int = 60) -> tuple[list[Item], str, list[Message]]:
    """The messages, a summary of them, and the messages that stay. Every order of them is another ``seed``."""
    chance = random.Random(seed)
    talk = Talk()
    plants = [*LOST, *KEPT]
    chance.shuffle(plants)
    per_round = -(-len(plants) // rounds)
    for number in range(rounds):
        _noise(talk, chance, number)
        for plant in plants[number * per_round : (number + 1) * per_round]:
            _say(talk, plant)
    kept = [f"- {plant.kept}" for plant in KEPT]
    chance.shuffle(kept)
    summary = "## Active Task\n- none\n\n## Critical Context\n" + "\n".join(kept)
    return talk.items, summary, [user_text("go on with the next part")]


def _say(talk: Talk, plant: Plant) -> None:
    match plant.by:
        case "user":
            talk.user(plant.said)
        case "agent":
            talk.agent(plant.said)
        case "result":
            talk.agent(call("run_shell", command="make check"))
            talk.result(f"collecting\nstep one done\n{plant.said}\n", is_error=True)
        case "call":
            talk.agent(call("write_file", path=plant.said, content="set -eu\n" * 30))
            talk.result("written")


def _noise(talk: Talk, chance: random.Random, number: int) -> None:
    """A round that reads a file full of names and figures, none of which anybody mentions."""
    if number % 4 == 0:
        talk.user(chance.choice(_ASIDES))
    names = "\n".join(
        f"def helper_{number}_{n}(value): return lib/mod_{number}/part_{n}.py  # {n * 7} ms, must never fail"
        for n in range(40)
    )
    talk.agent(chance.choice(_CHATTER), call("read_file", path=f"lib/read_once_{number}.py"))
    talk.result(names)
