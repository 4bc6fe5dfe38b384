"""Sends an event with the SDK of CloudEvents for Python, or reads the body of a delivery.

client.py send URL MODE ID SUBJECT
client.py read BODY
"""

import datetime
import json
import sys
import urllib.error
import urllib.request

from cloudevents.conversion import to_binary, to_structured
from cloudevents.http import CloudEvent, from_http


def send(url, mode, event_id, subject):
    event = CloudEvent(
        {
            "id": event_id,
            "source": "/python",
            "type": "payout.processed",
            "time": datetime.datetime(2026, 1, 31, 12, 0, 0, 123456, datetime.timezone.utc).isoformat(),
            "datacontenttype": "application/json",
            "subject": subject,
            "version": "2026-01-01",
        },
        {"amount": 5},
    )
    headers, body = to_structured(event) if mode == "structured" else to_binary(event)
    request = urllib.request.Request(url, body, {**headers, "Authorization": "Bearer sdk"})
    try:
        with urllib.request.urlopen(request) as response:
            print(response.status)
    except urllib.error.HTTPError as error:
        print(error.status, error.read().decode())


def read(body):
    headers = {"Content-Type": "application/cloudevents+json; charset=utf-8"}
    event = from_http(headers, body)
    print(json.dumps({"attributes": dict(event.get_attributes()), "data": event.get_data()}))


if sys.argv[1] == "read":
    read(sys.argv[2])
else:
    send(*sys.argv[2:])
