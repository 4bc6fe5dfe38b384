"""A small endpoint: it books each payout once. Usage: HELIOGRAPH_KEY_FILE=FILE python3 endpoint.py [PORT] [DATABASE]

A key file that ends in .json is the sender's set of public keys. HELIOGRAPH_SCHEME is the scheme, by default HmacV1.
"""

import os
import pathlib
import sys
from contextlib import closing

from heliograph_public_keys import public_keys
from heliograph_recipient import Refused, shared_key
from heliograph_server import Recipient, serve
from heliograph_stores import SqliteStore

database = sys.argv[2] if len(sys.argv) > 2 else "payouts.db"
store = SqliteStore(database)


def keys():
    """Reads the file for each delivery, so that a rotation needs no restart. Further keys are further files."""
    found = {}
    for name in os.environ["HELIOGRAPH_KEY_FILE"].split(","):
        written = pathlib.Path(name).read_bytes()
        found.update(public_keys(written) if name.endswith(".json") else {name: shared_key(written)})
    return found


def book(event, transaction):
    # A test event, or a type that this endpoint does not know: 200, and no effect.
    if event["type"] != "payout.processed":
        return
    if "payout_id" not in event.get("data", {}):
        raise Refused(422, "invalid_state", "A payout has a payout_id")
    transaction.execute("INSERT INTO payouts VALUES (?, ?)", (event["data"]["payout_id"], event["event_id"]))


with closing(store.connect()) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS payouts (payout_id TEXT, event_id TEXT)")
port = int(sys.argv[1]) if len(sys.argv) > 1 else 8090
# A key that cannot be read ends the program here, and not at the first delivery.
keys()
scheme = os.environ.get("HELIOGRAPH_SCHEME", "HmacV1")
server = serve(Recipient(keys, store, book, "1", scheme), port)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
