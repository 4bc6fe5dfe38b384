"""Runs the published vectors: python3 -m unittest. Those with public keys need the package `cryptography`."""

import base64
import json
import pathlib
import unittest
from datetime import datetime

from heliograph_public_keys import HAS_CRYPTOGRAPHY, public_keys
from heliograph_recipient import Refused, verify
from heliograph_server import Recipient
from heliograph_stores import MemoryStore

FILE = pathlib.Path(__file__).parent.parent / "vectors.json"
VECTORS = [
    vector
    for vector in json.loads(FILE.read_text("utf-8"))["vectors"]
    if HAS_CRYPTOGRAPHY or "public_keys" not in vector
]


def keys_of(vector):
    keys = {secret["id"]: base64.b64decode(secret["key"]) for secret in vector["secrets"]}
    if "public_keys" in vector:
        named = [{**key["jwk"], "kid": key["id"]} for key in vector["public_keys"]]
        keys.update(public_keys(json.dumps({"keys": named})))
    return keys


def seconds_of(vector):
    return datetime.fromisoformat(vector["now"].replace("Z", "+00:00")).timestamp()


def result_of(vector):
    """The result of one vector, as its member `expected` says it."""
    body, path = base64.b64decode(vector["body"]), vector["path"]
    keys = keys_of(vector)
    now = seconds_of(vector)
    headers, effects = vector["headers"], []
    store = MemoryStore()
    for event_id in vector.get("seen", []):
        store.once(event_id, "1", lambda transaction: None)
    endpoint = Recipient(
        lambda: keys, store, lambda event, _: effects.append(event), "1", vector["scheme"], lambda: now
    )
    try:
        endpoint.deliver(headers, vector["method"], path, body)
        key = verify(headers, vector["method"], path, body, keys, now, vector["scheme"])
    except Refused as refusal:
        return {"result": "refused", "reason": refusal.reason, "key": None, "status": refusal.status}
    return {"result": "accepted" if effects else "duplicate", "reason": None, "key": key, "status": 200}


class Vectors(unittest.TestCase):
    def test_every_vector(self):
        print(f"{len(VECTORS)} vectors")
        for vector in VECTORS:
            with self.subTest(vector["name"]):
                self.assertEqual(result_of(vector), vector["expected"])


if __name__ == "__main__":
    unittest.main()
