"""Verifies signed webhooks of Heliograph. Stores are in heliograph_stores.py, HTTP in heliograph_server.py.

It needs Python 3.9 or newer and nothing but the standard library. It verifies the schemes HmacV1 and StandardWebhooks
with shared keys. The standard library has no Ed25519, so public keys need another library.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from datetime import datetime, timezone

WINDOW_SECONDS = 300
SIGNATURES_MAX = 8

_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)
_HMAC_V1 = re.compile(r"v1=[A-Za-z0-9+/]{43}=", re.ASCII)
_STANDARD = re.compile(r"v1,[A-Za-z0-9+/]{43}=", re.ASCII)


class Refused(Exception):
    """A response that is no success. `reason` is for logs and never part of the response."""

    def __init__(self, status, error, description, retry_after=None, reason=None):
        super().__init__(description)
        self.status, self.error, self.description = status, error, description
        self.retry_after, self.reason = retry_after, reason or error


def _unsigned(reason):
    # One text for every fault, since details would help a forger.
    return Refused(401, "invalid_signature", "The signature or its timestamp is not valid", reason=reason)


def _unreadable(reason):
    return Refused(400, "invalid_event", "The body is not the event in the headers", reason=reason)


def verify(headers, method, path, body, secrets, now=None, scheme="HmacV1"):
    """Returns the id of the key that signed; raises Refused for every other request.

    `path` is the request target as it was received and `body` the received bytes. `secrets` holds the bytes of each
    key in force by its id, so that the old and the new key are valid during a rotation. `now` is in Unix seconds.
    """
    names = {name.lower(): value for name, value in headers.items()}
    return _SCHEMES[scheme](names, method, path, body, secrets, time.time() if now is None else now)


def _verify_hmac_v1(headers, method, path, body, secrets, now):
    signature, timestamp = headers.get("x-signature"), headers.get("x-timestamp")
    if signature is None:
        raise _unsigned("signature_missing")
    if timestamp is None:
        raise _unsigned("timestamp_missing")
    _check_window(_seconds_of(timestamp), now)
    given = [one.strip() for one in signature.split(",")]
    if len(given) > SIGNATURES_MAX or not all(_HMAC_V1.fullmatch(one) for one in given):
        raise _unsigned("signature_malformed")
    # The text of the timestamp is signed as it was received, and the path ends before the query.
    parts = [timestamp, method.upper(), path.split("?", 1)[0], hashlib.sha256(body).hexdigest()]
    return _matching_key(secrets, given, "v1=", "\n".join(parts).encode())


def _verify_standard(headers, method, path, body, secrets, now):
    """Source: Standard Webhooks 1.0.0."""
    identity, signatures = headers.get("webhook-id"), headers.get("webhook-signature")
    timestamp = headers.get("webhook-timestamp")
    if identity is None or signatures is None:
        raise _unsigned("signature_missing")
    if timestamp is None:
        raise _unsigned("timestamp_missing")
    _check_window(float(timestamp) if re.fullmatch(r"[0-9]{1,12}", timestamp) else None, now)
    given = signatures.split(" ")
    known = [one for one in given if _STANDARD.fullmatch(one)]
    if len(given) > SIGNATURES_MAX or not known or "." in identity:
        raise _unsigned("signature_malformed")
    return _matching_key(secrets, known, "v1,", f"{identity}.{timestamp}.".encode() + body)


_SCHEMES = {"HmacV1": _verify_hmac_v1, "StandardWebhooks": _verify_standard}


def _matching_key(secrets, given, prefix, signed):
    matching = [
        name
        for name, secret in secrets.items()
        # Every signature is compared, in constant time, and as text: several texts decode to the same bytes.
        if any([hmac.compare_digest(one, _signature(secret, prefix, signed)) for one in given])
    ]
    if not matching:
        raise _unsigned("signature_mismatch")
    return matching[0]


def _signature(secret, prefix, signed):
    return prefix + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


def _check_window(sent_at, now):
    if sent_at is None:
        raise _unsigned("timestamp_malformed")
    # Times as floats are exact to a microsecond only.
    if round(abs(now - sent_at), 6) > WINDOW_SECONDS:
        raise _unsigned("timestamp_outside_window")


def _seconds_of(timestamp):
    match = _TIMESTAMP.fullmatch(timestamp)
    if match is None:
        return None
    *whole, fraction = match.groups()
    try:
        at = datetime(*map(int, whole), tzinfo=timezone.utc)
    except ValueError:
        return None
    # The product reads milliseconds and drops the rest.
    return at.timestamp() + int((fraction or "0").ljust(3, "0")[:3]) / 1000


def read_event(headers, body):
    """The event of a verified delivery. The id in the signed body counts; a header that differs is refused."""
    return _read(headers, body, ("event_id", "type", "version", "ts"), lambda event: type(event["attempt"]) is int)


def read_acknowledgement(headers, body):
    """The notice that an event was handled by hand. A delivery is none, since some schemes do not sign the path."""
    return _read(headers, body, ("event_id", "handled_at"), lambda notice: "type" not in notice)


def _read(headers, body, texts, is_whole):
    try:
        content = json.loads(body.decode())
        is_content = all(isinstance(content[name], str) and content[name] for name in texts) and is_whole(content)
    except (ValueError, LookupError, TypeError, RecursionError):
        is_content = False
    if not is_content:
        raise _unreadable("body_malformed")
    named = {name.lower(): value for name, value in headers.items()}.get("x-event-id")
    if named is not None and named != content["event_id"]:
        raise _unreadable("event_id_differs")
    return content


def shared_key(written):
    """Bytes of a key: those of a text as they are, or the base64 after `whsec_`."""
    if not written.startswith(b"whsec_"):
        return written
    try:
        return base64.b64decode(written.strip()[6:], validate=True)
    except binascii.Error as error:
        raise ValueError("the key is not base64 after whsec_") from error
