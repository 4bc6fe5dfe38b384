"""The endpoint in Django: it books each payout once. It needs django and waitress.

Usage: HELIOGRAPH_KEY_FILE=FILE[,FILE] [PORT=8095] [DATABASE=payouts.db] [STATUS_TOKEN=TOKEN] python3 django_app.py
"""

import logging
import os
import pathlib
from contextlib import closing

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt
from waitress import serve

from heliograph_recipient import Refused, shared_key
from heliograph_server import BODY_BYTES_MAX, Recipient, bearer_callers, wsgi_target
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


def read(request):
    """The bytes as they arrived. Beyond its own limit, `request.body` ends in 400, which the sender does not repeat."""
    # Django reads as many bytes as Content-Length says; a body in chunks has none.
    stream = request.META["wsgi.input"] if request.META.get("wsgi.input_terminated") else request
    return stream.read(BODY_BYTES_MAX + 1)


# A sender has no CSRF token; it has a signature.
@csrf_exempt
def webhooks(request):
    answer = recipient.respond(request.method, wsgi_target(request.META), request.headers, lambda: read(request))
    return HttpResponse(answer.body, status=answer.status, headers=answer.headers)


# In a project with other views, put the paths of the webhooks here.
urlpatterns = [re_path("", webhooks)]
settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"],
    # With CommonMiddleware it redirects, and the sender follows no redirect.
    APPEND_SLASH=False,
)
application = get_wsgi_application()

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    serve(application, host="127.0.0.1", port=int(os.environ.get("PORT", "8095")))
