"""The endpoint in Flask: it books each payout once. It needs flask and waitress.

Usage: HELIOGRAPH_KEY_FILE=FILE[,FILE] [PORT=8093] [DATABASE=payouts.db] [STATUS_TOKEN=TOKEN] python3 flask_app.py
"""

import logging
import os
import pathlib
from contextlib import closing

from flask import Flask, request
from waitress import serve
from werkzeug.exceptions import RequestEntityTooLarge

from heliograph_recipient import Refused, shared_key
from heliograph_server import BODY_BYTES_MAX, Recipient, bearer_callers, too_large, wsgi_target
from heliograph_stores import SqliteStore

store = SqliteStore(os.environ.get("DATABASE", "payouts.db"))


def keys():
    """Reads the old and the new key for each delivery, so that a rotation needs no restart."""
    names = os.environ["HELIOGRAPH_KEY_FILE"].split(",")
    return {name: shared_key(pathlib.Path(name).read_bytes()) for name in names}


def book(event, transaction):
    # A test event, or a type that this endpoint does not know: 200, and no effect.
    if event["type"] != "payout.processed":
        return
    if "payout_id" not in event.get("data", {}):
        raise Refused(422, "invalid_state", "A payout has a payout_id")
    transaction.execute("INSERT INTO payouts VALUES (?, ?)", (event["data"]["payout_id"], event["event_id"]))


with closing(store.connect()) as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS payouts (payout_id TEXT, event_id TEXT)")
# A key that cannot be read ends the program here, and not at the first delivery.
keys()
may_read_status = bearer_callers(os.environ.get("STATUS_TOKEN"))
recipient = Recipient(keys, store, book, "1", may_read_status=may_read_status)
app = Flask(__name__)


def read():
    # A byte more than the limit, since Flask silently cuts a chunked body at its own limit.
    request.max_content_length = BODY_BYTES_MAX + 1
    try:
        # The bytes as they arrived: JSON that is parsed and written again has another signature.
        return request.get_data(cache=False)
    except RequestEntityTooLarge as error:
        raise too_large() from error


# In an application with other routes, put the paths of the webhooks here.
@app.route("/", defaults={"path": ""}, methods=["GET", "POST", "OPTIONS"], provide_automatic_options=False)
@app.route("/<path:path>", methods=["GET", "POST", "OPTIONS"], provide_automatic_options=False)
def webhooks(path):
    return recipient.respond(request.method, wsgi_target(request.environ), request.headers, read)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    serve(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8093")))
