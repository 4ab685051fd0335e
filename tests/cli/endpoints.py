"""An OpenAI-compatible endpoint of one's own, as far as what it serves is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def serving(answers: Mapping[str, Any]) -> Iterator[str]:
    """A server with these answers by path; a callable gets the body that was sent. Gives its root URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, sent: bytes) -> None:
            answer = answers.get(self.path)
            if isinstance(answer, str):
                self.send_response(302)
                self.send_header("Location", answer)
                self.end_headers()
                return
            found = answer(json.loads(sent)) if callable(answer) else answer
            body = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
