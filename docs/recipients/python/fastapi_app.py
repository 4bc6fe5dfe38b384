"""The endpoint in FastAPI: it books each payout once. It needs fastapi, uvicorn and httptools.

Usage: HELIOGRAPH_KEY_FILE=FILE[,FILE] [PORT=8094] [DATABASE=payouts.db] [STATUS_TOKEN=TOKEN] python3 fastapi_app.py
"""

import os
import pathlib
from contextlib import closing

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from heliograph_recipient import Refused, shared_key
from heliograph_server import BODY_BYTES_MAX, Recipient, asgi_target, bearer_callers
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
# The sender follows no redirect.
app = FastAPI(redirect_slashes=False, openapi_url=None)


# In an application with other routes, put the paths of the webhooks here. A model as a parameter would parse the body.
@app.api_route("/{path:path}", methods=["GET", "POST", "OPTIONS"])
async def webhooks(request: Request):
    # The bytes as they arrived: JSON that is parsed and written again has another signature.
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_BYTES_MAX:
                break
    except ClientDisconnect:
        return Response(status_code=400)
    # Verifying waits for the store, so that it would stop all other requests of the event loop.
    target = asgi_target(request.scope)
    answer = await run_in_threadpool(recipient.respond, request.method, target, request.headers, lambda: bytes(body))
    return Response(*answer)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8094")))
