"""A small endpoint: it books each payout once. Usage: HELIOGRAPH_KEY_FILE=FILE python3 endpoint.py [PORT] [DATABASE]"""

import os
import pathlib
import sys
from contextlib import closing

from heliograph_recipient import Refused, shared_key
from heliograph_server import Recipient, serve
from heliograph_stores import SqliteStore

database = sys.argv[2] if len(sys.argv) > 2 else "payouts.db"
store = SqliteStore(database)


def keys():
    """Reads the file for each delivery, so that a rotation needs no restart. Further keys are further files."""
    names = os.environ["HELIOGRAPH_KEY_FILE"].split(",")
    return {name: shared_key(pathlib.Path(name).read_bytes()) for name in names}


def book(event, transaction):
    if "payout_id" not in event.get("data", {}):
        raise Refused(422, "invalid_state", "A payout has a payout_id")
    transaction.execute("INSERT INTO payouts VALUES (?, ?)", (event["data"]["payout_id"], event["event_id"]))


with closing(store.connect()) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS payouts (payout_id TEXT, event_id TEXT)")
port = int(sys.argv[1]) if len(sys.argv) > 1 else 8090
server = serve(Recipient(keys, store, book, "1"), port)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
