"""Sends the published requests, byte for byte, and reads the published keys. Usage: python3 -m unittest"""

import base64
import json
import logging
import socket
import threading
import unittest

from heliograph_public_keys import HAS_CRYPTOGRAPHY
from heliograph_recipient import shared_key
from heliograph_server import Recipient, serve
from heliograph_stores import MemoryStore
from test_vectors import FILE, keys_of, seconds_of

CONTENT = json.loads(FILE.read_text("utf-8"))
DEADLINE_SECONDS = 30
logging.getLogger("heliograph").addHandler(logging.NullHandler())
logging.getLogger("heliograph").propagate = False


def exchange(port, request):
    """The response to bytes on a connection of their own: status, headers and the members of its JSON."""
    with socket.create_connection(("127.0.0.1", port), DEADLINE_SECONDS) as connection:
        connection.sendall(request.encode() if isinstance(request, str) else request)
        response = b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
    head, _, content = response.partition("\r\n\r\n")
    line, *lines = head.split("\r\n")
    headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
    return int(line.split()[1]), headers, json.loads(content) if content.startswith("{") else {}


class HttpVectors(unittest.TestCase):
    def test_every_exchange(self):
        known = [vector for vector in CONTENT["http"] if HAS_CRYPTOGRAPHY or "public_keys" not in vector]
        print(f"{len(known)} HTTP vectors")
        for vector in known:
            with self.subTest(vector["name"]):
                self.run_exchanges(vector)

    def run_exchanges(self, vector):
        effects, keys = [], keys_of(vector)
        now = seconds_of(vector)
        recipient = Recipient(
            lambda: keys,
            MemoryStore(),
            lambda event, _: effects.append(event["event_id"]),
            "1",
            vector["scheme"],
            lambda: now,
            may_read_status=lambda headers: headers.get("Authorization") == "Bearer operator",
        )
        server = serve(recipient, 0)
        server.RequestHandlerClass.log_message = lambda *_: None
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            for step in vector["exchanges"]:
                status, headers, body = exchange(server.server_port, step["request"])
                self.assertEqual(status, step["status"])
                self.assertEqual({**headers, **step.get("headers", {})}, headers)
                self.assertEqual({**body, **step.get("body", {})}, body)
        finally:
            server.shutdown()
            server.server_close()
        self.assertEqual(effects, vector["effects"])


class KeyVectors(unittest.TestCase):
    def test_every_key(self):
        self.assertTrue(CONTENT["keys"])
        for vector in CONTENT["keys"]:
            with self.subTest(vector["text"]):
                try:
                    key = base64.b64encode(shared_key(vector["text"].encode())).decode()
                except ValueError:
                    key = None
                self.assertEqual(key, vector["key"])


if __name__ == "__main__":
    unittest.main()
