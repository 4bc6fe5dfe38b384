"""The HTTP endpoint of a recipient: deliveries, GET /webhooks/status/ID and POST /webhooks/ack."""

import json
import re
import secrets as randomness
import threading
import time
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote

from heliograph_recipient import Refused, path_of, read_acknowledgement, read_event, verify

# An event of 256 KiB and the attempt that the sender adds.
BODY_BYTES_MAX = 262_208
READ_TIMEOUT_SECONDS = 30
CONNECTIONS_MAX = 256
# Of a chunk's size, and of a trailer, which are not read.
LINE_BYTES_MAX = 8_192
TRAILERS_MAX = 64

_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?\r\n")
_STATUS = re.compile(r"/webhooks/status/([^/]+)\Z")
_TRACE = re.compile(r"[\da-f]{2}-(?!0{32})([\da-f]{32})-[\da-f]{16}-[\da-f]{2}", re.ASCII)


class Recipient:
    """The answers of an endpoint, apart from any HTTP server.

    `keys()` is called for each delivery, so that a rotation needs no restart; `verify` says what it returns.
    `handle(event, transaction)` is the effect of an event, inside the transaction of the store. It raises Refused for
    a response with another status; every other exception becomes a 500, which the sender repeats.
    `may_read_status(headers)` says who may read the status of events; without it nobody may.
    """

    def __init__(
        self, keys, store, handle, version, scheme="HmacV1", now=time.time, report=None, may_read_status=None
    ):
        self._keys, self._store, self._handle, self._version = keys, store, handle, version
        self._may_read_status = may_read_status or (lambda headers: False)
        self._scheme, self._now, self._report = scheme, now, report or (lambda outcome: None)

    def deliver(self, headers, method, path, body):
        """Verifies, looks, then checks again, acts and marks in one transaction, and only then returns."""
        self._verify(headers, method, path, body)
        event = read_event(headers, body)
        if (self._store.find(event["event_id"]) or {}).get("status") == "ok":
            return self._report("duplicate")
        self._once(event["event_id"], lambda transaction: self._handle(event, transaction))

    def acknowledge(self, headers, method, path, body):
        """An operator of the sender handled a dead letter by hand: the event is marked without its effect."""
        self._verify(headers, method, path, body)
        self._once(read_acknowledgement(headers, body)["event_id"], lambda transaction: None)

    def _once(self, event_id, effect):
        result = self._store.once(event_id, self._version, effect)
        self._report("duplicate" if result == "seen" else result)
        if result == "busy":
            raise Refused(429, "in_progress", "The same event is being processed", retry_after=1)
        if result == "full":
            raise Refused(503, "store_full", "The store of seen events is full", retry_after=60)

    def status(self, headers, event_id):
        if not self._may_read_status(headers):
            raise Refused(404, "not_found", "No endpoint has this path")
        record = self._store.find(event_id)
        if record is None:
            return {"seen": False}
        at = datetime.fromtimestamp(record["processed_at"], timezone.utc).isoformat(timespec="milliseconds")
        return {
            "seen": record["status"] == "ok",
            "processed_at": at.replace("+00:00", "Z"),
            "handler_version": record["handler_version"],
        }

    def _verify(self, headers, method, path, body):
        verify(headers, method, path, body, self._keys(), self._now(), self._scheme)


def serve(recipient, port, host="127.0.0.1", connections_max=CONNECTIONS_MAX):
    """An HTTP server of the recipient's endpoints; call its `serve_forever`. Port 0 picks a free one.

    It closes connections beyond `connections_max`; the sender repeats their deliveries.
    """
    places = threading.BoundedSemaphore(connections_max)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = READ_TIMEOUT_SECONDS
        # Without the version of Python.
        server_version, sys_version = "heliograph-recipient", ""

        def do_POST(self):
            self._answer(self._post)

        def do_GET(self):
            self._answer(self._get)

        def do_OPTIONS(self):
            self._answer(self._consent, {"WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "*"})

        def _consent(self):
            # Every sender may ask: its deliveries need a signature all the same.
            if "WebHook-Request-Origin" not in self.headers:
                raise Refused(404, "not_found", "No endpoint has this path")

        def _post(self):
            body, target = self._body(), self._target()
            is_acknowledgement = path_of(target).endswith("/webhooks/ack")
            take = recipient.acknowledge if is_acknowledgement else recipient.deliver
            take(self.headers, self.command, target, body)

        def _target(self):
            # `self.path` has one slash where a target begins with two, but the signature covers both.
            return self.requestline.split()[1]

        def _get(self):
            return recipient.status(self.headers, self._named_event())

        def _named_event(self):
            """A segment of the path, or `?event_id=`: URLs drop the segments `.` and `..`."""
            path, _, query = self._target().partition("?")
            segment = _STATUS.search(path_of(path))
            if segment:
                if re.search(r"%(?![0-9A-Fa-f]{2})", segment[1]):
                    raise Refused(400, "invalid_event_id", "The event id is not valid percent-encoding")
                return unquote(segment[1])
            named = parse_qs(query).get("event_id") if path_of(path).endswith("/webhooks/status") else None
            if not named:
                raise Refused(404, "not_found", "No endpoint has this path")
            return named[0]

        def _body(self):
            encoding = self.headers.get("Transfer-Encoding")
            if encoding is None:
                return self._sized_body()
            if encoding.strip().lower() != "chunked" or "Content-Length" in self.headers:
                raise self._malformed()
            return self._chunked_body()

        def _chunked_body(self):
            """Source: RFC 9112 §7.1."""
            body = b""
            while True:
                size = _CHUNK.fullmatch(self.rfile.readline(LINE_BYTES_MAX))
                if size is None:
                    raise self._malformed()
                length = int(size[1], 16)
                if length == 0:
                    break
                self._check_length(len(body) + length)
                body += self.rfile.read(length)
                if self.rfile.read(2) != b"\r\n":
                    raise self._malformed()
            for _ in range(TRAILERS_MAX):
                if self.rfile.readline(LINE_BYTES_MAX) in (b"\r\n", b""):
                    return body
            raise self._malformed()

        def _malformed(self):
            self.close_connection = True
            return Refused(400, "invalid_request", "The body of the request is malformed")

        def _check_length(self, length):
            if length > BODY_BYTES_MAX:
                self.close_connection = True
                raise Refused(413, "body_too_large", f"The body of a delivery has at most {BODY_BYTES_MAX} bytes")

        def _sized_body(self):
            length = self.headers.get("Content-Length", "")
            if not re.fullmatch(r"[0-9]{1,9}", length):
                self.close_connection = True
                raise Refused(411, "length_required", "A delivery has a Content-Length")
            self._check_length(int(length))
            return self.rfile.read(int(length))

        def log_request(self, code="-", size="-"):
            # The query of an endpoint may be its secret.
            self.log_message('"%s" %s', self.requestline.split("?", 1)[0], code)

        def _answer(self, answer, headers=()):
            trace = _TRACE.match(self.headers.get("traceparent", ""))
            trace_id = trace[1] if trace else randomness.token_hex(16)
            traced = {"X-Trace-Id": trace_id}
            try:
                self._write(200, answer(), {**traced, **dict(headers)})
            except Refused as refusal:
                self.log_message("%s", refusal.reason)
                body = {"error": refusal.error, "error_description": refusal.description, "trace_id": trace_id}
                retry = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
                self._write(refusal.status, body, {**traced, **retry})
            except Exception as error:  # The sender repeats a delivery after a 500.
                self.log_message("%r", error)
                body = {"error": "internal_error", "error_description": "Failed", "trace_id": trace_id}
                self._write(500, body, traced)

        def _write(self, status, body, headers):
            text = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if body is not None:
                self.send_header("Content-Type", "application/json")
            if self.close_connection:
                self.send_header("Connection", "close")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def process_request(self, request, address):
            if not places.acquire(blocking=False):
                self.shutdown_request(request)
                return
            try:
                super().process_request(request, address)
            except BaseException:
                places.release()
                raise

        def process_request_thread(self, request, address):
            try:
                super().process_request_thread(request, address)
            finally:
                places.release()

    return Server((host, port), Handler)
