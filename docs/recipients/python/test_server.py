"""Tests of the HTTP endpoint. Usage: python3 -m unittest"""

import base64
import hashlib
import hmac
import http.client
import json
import logging
import threading
import time
import unittest
from contextlib import closing

from heliograph_recipient import verify
from heliograph_server import BODY_BYTES_MAX, Recipient, asgi_target, bearer_callers, serve, wsgi_target
from heliograph_stores import MemoryStore

KEY = b"k" * 32
DEADLINE_SECONDS = 30
TIME = "2026-01-01T00:00:00.000Z"
EVENT = {"event_id": "evt_1", "type": "payout.processed", "version": "1", "ts": TIME, "attempt": 1}
PATH = "/webhooks/v1/payout"
logging.getLogger("heliograph").addHandler(logging.NullHandler())
logging.getLogger("heliograph").propagate = False


def standard_headers(body):
    """A signature that does not cover the path."""
    timestamp = str(int(time.time()))
    mac = hmac.new(KEY, f"msg_1.{timestamp}.".encode() + body, hashlib.sha256).digest()
    signature = "v1," + base64.b64encode(mac).decode()
    return {"webhook-id": "msg_1", "webhook-timestamp": timestamp, "webhook-signature": signature}


class Endpoint(unittest.TestCase):
    def start(self, **options):
        self.handled = []
        handle = lambda event, transaction: self.handled.append(event["event_id"])
        recipient = Recipient(lambda: {"one": KEY}, MemoryStore(), handle, "1", scheme="StandardWebhooks")
        server = serve(recipient, 0, **options)
        server.RequestHandlerClass.log_message = lambda *_: None
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.shutdown)
        self.port = server.server_port

    def connect(self):
        return closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_SECONDS))

    def send(self, method, path, body=b"", headers=()):
        with self.connect() as connection:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            return response.status, response.headers, response.read()

    def post(self, path, content):
        body = json.dumps(content).encode()
        return self.send("POST", path, body, standard_headers(body))[0]

    def test_an_event_has_its_effect_once(self):
        self.start()
        self.assertEqual([self.post(PATH, EVENT), self.post(PATH, EVENT)], [200, 200])
        self.assertEqual(self.handled, ["evt_1"])

    def test_a_delivery_is_no_acknowledgement(self):
        self.start()
        self.assertEqual(self.post("/webhooks/ack", EVENT), 400)
        self.assertEqual((self.post(PATH, EVENT), self.handled), (200, ["evt_1"]))
        notice = {"event_id": "evt_2", "handled_at": TIME}
        self.assertEqual([self.post("/webhooks/ack", notice), self.post(PATH, notice)], [200, 400])
        self.assertEqual((self.post(PATH, {**EVENT, "event_id": "evt_2"}), self.handled), (200, ["evt_1"]))

    def test_a_sender_that_asks_gets_consent(self):
        self.start()
        status, headers, _ = self.send("OPTIONS", PATH, headers={"WebHook-Request-Origin": "sender.example"})
        self.assertEqual((status, headers["WebHook-Allowed-Origin"], headers["WebHook-Allowed-Rate"]), (200, "*", "*"))
        status, headers, _ = self.send("OPTIONS", PATH)
        self.assertEqual((status, headers["WebHook-Allowed-Origin"]), (404, None))

    def test_a_refusal_tells_nothing_about_the_signature_or_the_program(self):
        self.start()
        status, headers, body = self.send("POST", PATH, b"{}", {**standard_headers(b"{}"), "webhook-id": "msg_2"})
        answer = json.loads(body)
        self.assertEqual((status, answer["error"]), (401, "invalid_signature"))
        self.assertEqual(answer["trace_id"], headers["X-Trace-Id"])
        self.assertNotIn("mismatch", body.decode())
        self.assertNotIn("Python", headers["Server"])

    def test_a_large_body_is_refused_before_it_is_read(self):
        self.start()
        self.assertEqual(self.send("POST", PATH, headers={"Content-Length": str(BODY_BYTES_MAX + 1)})[0], 413)

    def test_connections_have_a_bound(self):
        self.start(connections_max=1)
        with self.connect() as first:
            first.request("GET", "/")
            self.assertEqual(first.getresponse().status, 404)
            with self.assertRaises((http.client.RemoteDisconnected, ConnectionError)):
                self.send("GET", "/")
        self.assertEqual(self.until_answered(), 404)

    def until_answered(self):
        end = time.monotonic() + DEADLINE_SECONDS
        while True:
            try:
                return self.send("GET", "/")[0]
            except (http.client.RemoteDisconnected, ConnectionError):
                if time.monotonic() > end:
                    raise


class Frameworks(unittest.TestCase):
    def test_the_target_of_wsgi_is_the_received_one(self):
        decoded = {"SCRIPT_NAME": "/a b", "PATH_INFO": "/caf\u00c3\u00a9", "QUERY_STRING": "x=%20"}
        self.assertEqual(wsgi_target({**decoded, "RAW_URI": "//a%20b"}), "//a%20b")
        self.assertEqual(wsgi_target({**decoded, "REQUEST_URI": "//a%20b?"}), "//a%20b?")
        self.assertEqual(wsgi_target(decoded), "/a%20b/caf%C3%A9?x=%20")
        self.assertEqual(wsgi_target({"PATH_INFO": "/evt:1"}), "/evt:1")

    def test_the_target_of_asgi_is_the_received_one(self):
        self.assertEqual(asgi_target({"path": "/é", "raw_path": b"//%C3%a9", "query_string": b"a=b"}), "//%C3%a9?a=b")
        self.assertEqual(asgi_target({"path": "/a b", "query_string": b""}), "/a%20b")

    def test_a_caller_has_one_of_the_tokens(self):
        may_read = bearer_callers("old", "new")
        given = ["Bearer old", "Bearer new", "Bearer ol", "old", "Bearer é"]
        self.assertEqual([may_read({"Authorization": one}) for one in given], [True, True, False, False, False])
        self.assertFalse(may_read({}))
        self.assertFalse(bearer_callers(None, "")({"Authorization": "Bearer "}))

    def test_lines_that_a_server_joins_without_a_space_are_entries(self):
        body = json.dumps(EVENT).encode()
        headers = standard_headers(body)
        own, other = headers["webhook-signature"], "v1," + base64.b64encode(b"x" * 32).decode()
        for joined in (f"{own},{other}", f"{other},{own}", f"{other}, {own}", f"{other} {own}"):
            joined = {**headers, "webhook-signature": joined}
            self.assertEqual(verify(joined, "POST", PATH, body, {"one": KEY}, scheme="StandardWebhooks"), "one")


if __name__ == "__main__":
    unittest.main()
