"""The HTTP endpoint of a recipient: deliveries, GET /webhooks/status/ID and POST /webhooks/ack."""

import hmac
import json
import logging
import re
import secrets as randomness
import threading
import time
from datetime import datetime, timezone
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote

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
_log = logging.getLogger("heliograph")


class _Headers(HTTPMessage):
    """Values without the blanks behind them, which Python keeps. Source: RFC 9110 §5.5."""

    def set_raw(self, name, value):
        super().set_raw(name, value.rstrip(" \t"))


class Response(NamedTuple):
    """In the order in which Flask and FastAPI take the parts."""

    body: bytes
    status: int
    headers: dict


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

    def respond(self, method, target, headers, read):
        """The response to a request, for a server or a framework; it may wait for the store.

        `target` is the request target as it was received, since the signature covers these bytes. `headers` is a
        mapping that ignores case. `read()` returns the received bytes of the body, of which BODY_BYTES_MAX + 1 are enough.
        """
        trace = _TRACE.match(headers.get("traceparent", ""))
        trace_id = trace[1] if trace else randomness.token_hex(16)
        traced = {"X-Trace-Id": trace_id}
        try:
            content, more = self._routed(method, target, headers, read)
            return _response(200, content, {**traced, **more})
        except Refused as refusal:
            _log.warning("%s trace_id=%s", refusal.reason, trace_id)
            content = {"error": refusal.error, "error_description": refusal.description, "trace_id": trace_id}
            retry = {} if refusal.retry_after is None else {"Retry-After": str(refusal.retry_after)}
            return _response(refusal.status, content, {**traced, **retry})
        except Exception:  # The sender repeats a delivery after a 500.
            _log.exception("internal_error trace_id=%s", trace_id)
            content = {"error": "internal_error", "error_description": "Failed", "trace_id": trace_id}
            return _response(500, content, traced)

    def _routed(self, method, target, headers, read):
        if method == "OPTIONS" and "WebHook-Request-Origin" in headers:
            # Every sender may ask for consent: its deliveries need a signature all the same.
            return None, {"WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "*"}
        if method == "GET":
            return self.status(headers, _named_event(target)), {}
        if method != "POST":
            raise _not_found()
        body = read()
        if len(body) > BODY_BYTES_MAX:
            raise too_large()
        take = self.acknowledge if path_of(target).endswith("/webhooks/ack") else self.deliver
        take(headers, method, target, body)
        return None, {}

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
            raise _not_found()
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


def _response(status, content, headers):
    body = b"" if content is None else json.dumps(content).encode()
    # Django adds no length, so its server would send the response in chunks.
    known = {**headers, "Content-Length": str(len(body))}
    return Response(body, status, known if content is None else {**known, "Content-Type": "application/json"})


def _not_found():
    return Refused(404, "not_found", "This path does not exist")


def too_large():
    """What `read` raises if a framework refuses a body by its length."""
    return Refused(413, "body_too_large", f"The body of a delivery has at most {BODY_BYTES_MAX} bytes")


def _named_event(target):
    """A segment of the path, or `?event_id=`: URLs drop the segments `.` and `..`."""
    path, _, query = target.partition("?")
    segment = _STATUS.search(path_of(path))
    if segment:
        if re.search(r"%(?![0-9A-Fa-f]{2})", segment[1]):
            raise Refused(400, "invalid_event_id", "The event id is not valid percent-encoding")
        return unquote(segment[1])
    named = parse_qs(query).get("event_id") if path_of(path).endswith("/webhooks/status") else None
    if not named:
        raise _not_found()
    return named[0]


def bearer_callers(*tokens):
    """For `may_read_status`: callers whose `Authorization` has one of the tokens. Empty tokens are ignored."""
    known = [f"Bearer {token}".encode() for token in tokens if token]

    def may_read_status(headers):
        given = headers.get("Authorization", "").encode()
        return any([hmac.compare_digest(given, one) for one in known])

    return may_read_status


def wsgi_target(environ):
    """The request target of a WSGI request. WSGI has the decoded path only, and servers add what they received:
    Gunicorn as RAW_URI, and Waitress, uWSGI and mod_wsgi as REQUEST_URI.
    """
    received = environ.get("RAW_URI") or environ.get("REQUEST_URI")
    if received:
        return received
    path = quote((environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1"), "/:@!$&'()*+,;=~")
    return _target(path, environ.get("QUERY_STRING"))


def asgi_target(scope):
    """The request target of an ASGI request."""
    path = scope.get("raw_path") or quote(scope["path"], "/:@!$&'()*+,;=~").encode()
    return _target(path.decode("latin-1"), scope["query_string"].decode("latin-1"))


def _target(path, query):
    return f"{path}?{query}" if query else path


def serve(recipient, port, host="127.0.0.1", connections_max=CONNECTIONS_MAX):
    """An HTTP server of the recipient's endpoints; call its `serve_forever`. Port 0 picks a free one.

    It closes connections beyond `connections_max`; the sender repeats their deliveries.
    """
    places = threading.BoundedSemaphore(connections_max)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        MessageClass = _Headers
        timeout = READ_TIMEOUT_SECONDS
        # Without the version of Python.
        server_version, sys_version = "heliograph-recipient", ""

        def do_POST(self):
            # `self.path` has one slash where a target begins with two, but the signature covers both.
            target = self.requestline.split()[1]
            self._write(recipient.respond(self.command, target, self.headers, self._body))

        do_GET = do_OPTIONS = do_POST

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
                raise too_large()

        def _sized_body(self):
            lengths = self.headers.get_all("Content-Length", [""])
            if len(lengths) > 1:
                raise self._malformed()
            length = lengths[0]
            if not re.fullmatch(r"[0-9]{1,9}", length):
                self.close_connection = True
                raise Refused(411, "length_required", "A delivery has a Content-Length")
            self._check_length(int(length))
            return self.rfile.read(int(length))

        def log_request(self, code="-", size="-"):
            # The query of an endpoint may be its secret.
            self.log_message('"%s" %s', self.requestline.split("?", 1)[0], code)

        def _write(self, response):
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(response.body)

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
