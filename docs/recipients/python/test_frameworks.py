"""Runs the endpoints in Flask, FastAPI and Django with the published vectors: python3 -m unittest test_frameworks"""

import base64
import hashlib
import hmac
import importlib
import io
import json
import os
import pathlib
import tempfile
import threading
import time
import unittest
from contextlib import closing
from datetime import datetime, timezone
from unittest import mock
from wsgiref.util import setup_testing_defaults

from heliograph_server import BODY_BYTES_MAX, Recipient, bearer_callers
from heliograph_stores import MemoryStore
from test_http_vectors import CONTENT, DEADLINE_SECONDS, exchange
from test_vectors import keys_of, seconds_of

PATH = "/webhooks/v1/payout"
OLD, NEW = b"o" * 32, b"n" * 32
# HTTP has methods in upper case, and a delivery is a POST.
VECTORS = [vector for vector in CONTENT["vectors"] if vector["method"] == "POST"]
TIME = "2026-01-01T00:00:00.000Z"
EVENT = {"event_id": "evt_1", "type": "payout.processed", "version": "1", "ts": TIME, "attempt": 1}


def request_of(headers, body, path=PATH, method="POST", framing=None):
    sent = {"Host": "partner.example", **headers, "Connection": "close"}
    sent.update(framing or {"Content-Length": str(len(body))})
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def signed(event, key=NEW, path=PATH, **more):
    """A delivery as the sender signs it, with the scheme HmacV1."""
    body = event if isinstance(event, bytes) else json.dumps(event).encode()
    timestamp = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = "\n".join([timestamp, "POST", path.split("?")[0], hashlib.sha256(body).hexdigest()])
    signature = "v1=" + base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
    headers = {"X-Signature": signature, "X-Timestamp": timestamp, "Content-Type": "application/json"}
    return request_of({**headers, **more.pop("headers", {})}, body, path, **more)


def chunked(request):
    head, body = request.split(b"\r\n\r\n", 1)
    head = head.replace(f"Content-Length: {len(body)}".encode(), b"Transfer-Encoding: chunked")
    return head + b"\r\n\r\n" + f"{len(body):x}".encode() + b"\r\n" + body + b"\r\n0\r\n\r\n"


class Endpoint:
    """The tests of one example. Each replaces the recipient of the example, or uses it as it is."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        files = [pathlib.Path(folder.name, name) for name in ("old.key", "new.key")]
        for file, key in zip(files, (OLD, NEW)):
            file.write_bytes(key)
        variables = {
            "HELIOGRAPH_KEY_FILE": ",".join(map(str, files)),
            "DATABASE": str(pathlib.Path(folder.name, "payouts.db")),
            "STATUS_TOKEN": "operator",
        }
        environment = mock.patch.dict(os.environ, variables)
        environment.start()
        cls.addClassCleanup(environment.stop)
        try:
            cls.example = importlib.import_module(cls.name)
        except ModuleNotFoundError as missing:
            raise unittest.SkipTest(f"{cls.name} needs {missing.name}") from missing
        cls.port = cls.start()

    def replace(self, keys, handle, now=time.time, scheme="HmacV1", store=None):
        self.addCleanup(setattr, self.example, "recipient", self.example.recipient)
        may_read = bearer_callers("operator")
        self.example.recipient = Recipient(
            lambda: keys, store or MemoryStore(), handle, "1", scheme, now, may_read_status=may_read
        )

    def test_http_vectors(self):
        print(f"{len(CONTENT['http'])} HTTP vectors: {self.name}")
        for vector in CONTENT["http"]:
            with self.subTest(vector["name"]):
                effects, now = [], seconds_of(vector)
                handle = lambda event, _: effects.append(event["event_id"])
                self.replace(keys_of(vector), handle, lambda: now, vector["scheme"])
                for step in vector["exchanges"]:
                    status, headers, body = exchange(self.port, step["request"])
                    self.assertEqual(status, step["status"])
                    self.assertEqual({**headers, **step.get("headers", {})}, headers)
                    self.assertEqual({**body, **step.get("body", {})}, body)
                self.assertEqual(effects, vector["effects"])

    def test_vectors(self):
        print(f"{len(VECTORS)} vectors: {self.name}")
        for vector in VECTORS:
            with self.subTest(vector["name"]):
                effects, now, store = [], seconds_of(vector), MemoryStore()
                for event_id in vector.get("seen", []):
                    store.once(event_id, "1", lambda transaction: None)
                handle = lambda event, _: effects.append(event)
                self.replace(keys_of(vector), handle, lambda: now, vector["scheme"], store)
                request = request_of(vector["headers"], base64.b64decode(vector["body"]), vector["path"])
                status, _, body = exchange(self.port, request)
                expected = vector["expected"]
                self.assertEqual((status, len(effects)), (expected["status"], expected["result"] == "accepted"))
                self.assertEqual(body.get("error") == "invalid_signature", status == 401)

    def test_the_payout_of_an_event_is_booked_once(self):
        payout = {**EVENT, "data": {"payout_id": "p-1"}}
        self.assertEqual(exchange(self.port, signed(payout))[0], 200)
        self.assertEqual(exchange(self.port, signed(payout, OLD))[0], 200)
        for kind in ("heliograph.ping", "payout.unheard-of"):
            self.assertEqual(exchange(self.port, signed({**EVENT, "event_id": kind, "type": kind}))[0], 200)
        self.assertEqual(exchange(self.port, chunked(signed({**payout, "event_id": "evt_2"})))[0], 200)
        slashes = signed({**EVENT, "event_id": "evt_6", "type": "a"}, path="/webhooks//v1%2Fpay%20out/?a=b//c")
        self.assertEqual(exchange(self.port, slashes)[0], 200)
        self.refused(signed({**EVENT, "event_id": "evt_3"}), 422, "invalid_state")
        with closing(self.example.store.connect()) as connection:
            booked = connection.execute("SELECT payout_id, event_id FROM payouts").fetchall()
        self.assertEqual(booked, [("p-1", "evt_1"), ("p-1", "evt_2")])

    def test_a_known_caller_reads_the_status(self):
        exchange(self.port, signed({**EVENT, "event_id": "evt_4", "type": "heliograph.ping"}))
        status = lambda token: request_of({"Authorization": token}, b"", "/webhooks/status/evt_4", "GET")
        code, _, body = exchange(self.port, status("Bearer operator"))
        self.assertEqual((code, body["seen"], body["handler_version"]), (200, True, "1"))
        self.refused(status("Bearer other"), 404, "not_found")

    def refused(self, request, status, error):
        code, headers, body = exchange(self.port, request)
        self.assertEqual((code, body.get("error"), headers["content-type"]), (status, error, "application/json"))
        self.assertEqual(sorted(body), ["error", "error_description", "trace_id"])
        self.assertEqual(body["trace_id"], headers["x-trace-id"])
        return body

    def test_a_refusal_names_the_trace_and_tells_nothing_about_the_signature(self):
        trace = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
        forged = self.refused(signed(EVENT, b"x" * 32, headers=trace), 401, "invalid_signature")
        self.assertEqual(forged["trace_id"], "a" * 32)
        unsigned = self.refused(request_of(trace, b"{}"), 401, "invalid_signature")
        self.assertEqual(unsigned, forged)

    def test_a_body_has_a_bound(self):
        pad = lambda size: json.dumps({**EVENT, "event_id": "evt_5", "type": "a", "pad": "x" * size}).encode()
        size = BODY_BYTES_MAX - len(pad(0))
        self.assertEqual(exchange(self.port, signed(pad(size)))[0], 200)
        over = signed(pad(size + 1))
        self.refused(over, 413, "body_too_large")
        self.refused(chunked(over), 413, "body_too_large")

    def test_a_handler_that_fails_gets_a_repeat_and_tells_nothing(self):
        def fail(event, transaction):
            raise RuntimeError("the password is 1234")

        self.replace({"new": NEW}, fail)
        self.assertEqual(self.refused(signed(EVENT), 500, "internal_error")["error_description"], "Failed")

    def test_a_slow_handler_keeps_no_other_request_waiting(self):
        entered, leave = threading.Event(), threading.Event()

        def wait(event, transaction):
            entered.set()
            leave.wait(DEADLINE_SECONDS)

        self.replace({"new": NEW}, wait)
        answers = []
        first = threading.Thread(target=lambda: answers.append(exchange(self.port, signed(EVENT))[0]))
        first.start()
        self.assertTrue(entered.wait(DEADLINE_SECONDS))
        # The same event is in work.
        self.assertEqual(self.refused(signed(EVENT), 429, "in_progress")["error"], "in_progress")
        self.assertEqual(answers, [])
        leave.set()
        first.join(DEADLINE_SECONDS)
        self.assertEqual(answers, [200])


class WsgiEndpoint(Endpoint):
    application = None

    @classmethod
    def start(cls):
        import waitress

        server = waitress.create_server(getattr(cls.example, cls.application), host="127.0.0.1", port=0)
        threading.Thread(target=server.run, daemon=True).start()
        return server.effective_port

    def call(self, request, **more):
        """A request in chunks as Gunicorn hands it on: without a length."""
        head, body = request.split(b"\r\n\r\n", 1)
        sent = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        environ = {"HTTP_" + name.upper().replace("-", "_"): value for name, value in sent.items()}
        del environ["HTTP_CONTENT_LENGTH"]
        setup_testing_defaults(environ)
        environ.update({"REQUEST_METHOD": "POST", "PATH_INFO": PATH, "RAW_URI": PATH, "wsgi.input": io.BytesIO(body)})
        statuses = []
        parts = getattr(self.example, self.application)({**environ, **more}, lambda status, *_: statuses.append(status))
        return statuses[0], b"".join(parts)

    def test_a_body_in_chunks_needs_no_server_that_gathers_it(self):
        event = {**EVENT, "event_id": "evt_7", "type": "a"}
        self.assertEqual(self.call(signed(event), **{"wsgi.input_terminated": True}), ("200 OK", b""))
        # Without this key the stream of a connection has no end.
        self.assertEqual(self.call(signed(event))[0][:3], "401")

    def test_no_limit_of_the_framework_ends_in_a_final_status(self):
        huge = signed(b"x" * 4 * 1024 * 1024)
        for more in ({"wsgi.input_terminated": True}, {"CONTENT_LENGTH": str(4 * 1024 * 1024)}):
            status, body = self.call(huge, **more)
            self.assertEqual((status[:3], json.loads(body)["error"]), ("413", "body_too_large"))


class FlaskEndpoint(WsgiEndpoint, unittest.TestCase):
    name, application = "flask_app", "app"


class DjangoEndpoint(WsgiEndpoint, unittest.TestCase):
    name, application = "django_app", "application"


class FastApiEndpoint(Endpoint, unittest.TestCase):
    name = "fastapi_app"

    @classmethod
    def start(cls):
        import uvicorn

        server = uvicorn.Server(uvicorn.Config(cls.example.app, host="127.0.0.1", port=0, log_config=None))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        cls.addClassCleanup(thread.join, DEADLINE_SECONDS)
        cls.addClassCleanup(setattr, server, "should_exit", True)
        end = time.monotonic() + DEADLINE_SECONDS
        while not server.started and time.monotonic() < end:
            time.sleep(0.01)
        return server.servers[0].sockets[0].getsockname()[1]


if __name__ == "__main__":
    unittest.main()
