"""A loopback HTTP server that answers as a model API does: one streamed response for each request."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Json = dict[str, Any]
Answer = Callable[[Json], Iterable[Json]]
"""From a request's body to the events of its stream, each with its `type`."""


@dataclass
class ModelApi:
    """The running server and what it has seen."""

    url: str
    requests: list[Json] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Requests that it could not answer: the client's API has moved, and the stand-in must follow."""


@contextmanager
def model_api(path: str, key_header: Mapping[str, str], answer: Answer) -> Iterator[ModelApi]:
    """Serve `answer` at `path` on a free loopback port; every request must carry `key_header`."""
    api = ModelApi(url="")

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            # A client may probe for a connection before its first request.
            self._respond(HTTPStatus.OK, "text/plain", b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            try:
                stream = self._stream(json.loads(body))
            except (AssertionError, LookupError, TypeError, ValueError):
                api.problems.append(f"POST {self.path}\n{traceback.format_exc()}")
                error = {"type": "error", "error": {"type": "invalid_request_error", "message": "stand-in failed"}}
                self._respond(HTTPStatus.BAD_REQUEST, "application/json", json.dumps(error).encode())
            else:
                self._respond(HTTPStatus.OK, "text/event-stream", stream)

        def _stream(self, request: Json) -> bytes:
            assert self.path.partition("?")[0] == path, f"unknown path {self.path}"
            assert all(self.headers[name] == value for name, value in key_header.items()), "another API key"
            api.requests.append(request)
            events = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in answer(request))
            return "".join(events).encode()

        def _respond(self, status: HTTPStatus, media_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Requests are kept in `api`; the test's own output stays readable."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        api.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
