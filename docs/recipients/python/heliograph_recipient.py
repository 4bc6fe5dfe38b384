"""Verifies signed webhooks of Heliograph. Stores are in heliograph_stores.py, HTTP in heliograph_server.py.

It needs Python 3.9 or newer. Shared keys need nothing but the standard library. Public keys, of StandardWebhooks and
HttpMessageSignatures, are read by heliograph_public_keys.py, which needs the package `cryptography`.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from datetime import datetime, timezone

from heliograph_signature_fields import byte_sequences, signature_base, signature_inputs

WINDOW_SECONDS = 300
SIGNATURES_MAX = 8

_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)
_HMAC_V1 = re.compile(r"v1=[A-Za-z0-9+/]{43}=", re.ASCII)
_STANDARD = re.compile(r"v1,[A-Za-z0-9+/]{43}=|v1a,[A-Za-z0-9+/]{86}==", re.ASCII)
# A comma ends each line of a repeated header. Gunicorn and others put no space behind it.
_ENTRY_END = re.compile(r",? |,(?=v[0-9]+[a-z]?,)")
# The first one that is present is compared. Source: RFC 9530 §5.
_DIGESTS = {"sha-512": hashlib.sha512, "sha-256": hashlib.sha256}
_ORIGIN = re.compile(r"https?://[^/?]*", re.IGNORECASE)
_DEFAULT_PORT = re.compile(r":(?:443|80)?\Z")
_PREFIX = re.compile(rb"wh(sec|sk|pk)_", re.IGNORECASE)
_SHARED = (bytes, bytearray)
# No other white space surrounds a value of HTTP.
_BLANKS = " \t"
_REQUIRED_COMPONENTS = {"@method", "@path", "content-digest"}


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


def verify(headers, method, path, body, keys, now=None, scheme="HmacV1"):
    """Returns the id of the key that signed; raises Refused for every other request.

    `path` is the request target as it was received and `body` the received bytes. `keys` holds each key in force by its
    id, so that the old and the new key are valid during a rotation: the bytes of a shared key, or a PublicKey of
    heliograph_public_keys.py. `now` is in Unix seconds.
    """
    return _SCHEMES[scheme](_joined(headers), method, path, body, keys, time.time() if now is None else now)


def path_of(target):
    """The path of a request target, byte for byte. The absolute form is of RFC 9112 §3.2.2."""
    path = target.split("?", 1)[0]
    origin = _ORIGIN.match(path)
    return path[origin.end() :] or "/" if origin else path


def _joined(headers):
    """The lines of a repeated header are one value, without blanks around each. Source: RFC 9110 §5.3 and §5.5."""
    values = {}
    for name, line in headers.items():
        known, value = values.get(name.lower()), line.strip(_BLANKS)
        values[name.lower()] = value if known is None else f"{known}, {value}"
    return values


def _verify_hmac_v1(headers, method, path, body, keys, now):
    signature, timestamp = headers.get("x-signature"), headers.get("x-timestamp")
    if signature is None:
        raise _unsigned("signature_missing")
    if timestamp is None:
        raise _unsigned("timestamp_missing")
    _check_window(_seconds_of(timestamp), now)
    # Entries of later versions and of others are beside those of v1.
    given = [one.strip(_BLANKS) for one in signature.split(",")[:SIGNATURES_MAX]]
    given = [one for one in given if _HMAC_V1.fullmatch(one)]
    if not given:
        raise _unsigned("signature_malformed")
    # The text of the timestamp is signed as it was received, and the path ends before the query.
    parts = [timestamp, method.upper(), path_of(path), hashlib.sha256(body).hexdigest()]
    return _matching_key(keys, given, "v1=", "\n".join(parts).encode())


def _verify_standard(headers, method, path, body, keys, now):
    """Source: Standard Webhooks 1.0.0."""
    identity, signatures = headers.get("webhook-id"), headers.get("webhook-signature")
    timestamp = headers.get("webhook-timestamp")
    if identity is None or signatures is None:
        raise _unsigned("signature_missing")
    if timestamp is None:
        raise _unsigned("timestamp_missing")
    _check_window(float(timestamp) if re.fullmatch(r"[0-9]{1,12}", timestamp) else None, now)
    given = [one[:-1] if one.endswith(",") else one for one in _ENTRY_END.split(signatures)[:SIGNATURES_MAX]]
    known = [one for one in given if _STANDARD.fullmatch(one)]
    if not known or "." in identity:
        raise _unsigned("signature_malformed")
    signed = f"{identity}.{timestamp}.".encode() + body
    try:
        return _matching_key(keys, [one for one in known if one.startswith("v1,")], "v1,", signed)
    except Refused:
        given = [base64.b64decode(one[4:]) for one in known if one.startswith("v1a,")]
        for name, key in _public(keys):
            if key.is_ed25519 and any(key.has_signed(signed, one) for one in given):
                return name
        raise


def _verify_message(headers, method, path, body, keys, now):
    """One signature is enough, by the key that it names. The key sets the algorithm. Source: RFC 9421 §3.2."""
    if "signature-input" not in headers or "signature" not in headers:
        raise _unsigned("signature_missing")
    inputs, signatures = signature_inputs(headers["signature-input"]), byte_sequences(headers["signature"])
    if inputs is None or signatures is None:
        raise _unsigned("signature_malformed")
    _check_digest(byte_sequences(headers.get("content-digest", "")) or {}, body)
    values = {**headers}
    values.update({"@method": method, "@path": path_of(path), "@query": "?" + path.partition("?")[2]})
    refusals = []
    for label, one in list(inputs.items())[:SIGNATURES_MAX]:
        for authority in _authorities(values.get("host", "").lower()):
            try:
                return _message_key(one, signatures.get(label), {**values, **authority}, keys, now)
            except Refused as refusal:
                refusals.append(refusal)
    raise refusals[0]


def _authorities(host):
    """The host, and the host without a default port, which a signature leaves out. Source: RFC 9421 §2.2.3."""
    return [{"@authority": one} if one else {} for one in dict.fromkeys([host, _DEFAULT_PORT.sub("", host)])]


def _check_digest(digests, body):
    for name, digest in _DIGESTS.items():
        if name in digests:
            if not hmac.compare_digest(digests[name], digest(body).digest()):
                raise _unsigned("digest_mismatch")
            return
    raise _unsigned("digest_missing")


def _message_key(one, signature, values, keys, now):
    components, parameters, text = one
    if signature is None:
        raise _unsigned("signature_missing")
    if len(set(components)) < len(components):
        raise _unsigned("signature_malformed")
    if not _REQUIRED_COMPONENTS <= set(components) <= set(values):
        raise _unsigned("components_missing")
    created, expires = parameters.get("created"), parameters.get("expires")
    if created is None:
        raise _unsigned("timestamp_missing")
    if expires is not None and not (isinstance(expires, int) and round(now - expires, 6) <= 0):
        raise _unsigned("timestamp_outside_window")
    _check_window(created if isinstance(created, int) else None, now)
    signed = signature_base(values, components, text)
    for name, key in _public(keys):
        if name == parameters.get("keyid") and key.has_signed(signed, signature):
            return name
    raise _unsigned("signature_mismatch")


_SCHEMES = {
    "HmacV1": _verify_hmac_v1,
    "StandardWebhooks": _verify_standard,
    "HttpMessageSignatures": _verify_message,
}


def _public(keys):
    return [(name, key) for name, key in keys.items() if not isinstance(key, _SHARED)]


def _matching_key(keys, given, prefix, signed):
    matching = [
        name
        for name, secret in keys.items()
        # Every signature is compared, in constant time, and as text: several texts decode to the same bytes.
        if isinstance(secret, _SHARED)
        and any([hmac.compare_digest(one, _signature(secret, prefix, signed)) for one in given])
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
    """The event of a verified delivery. The id in the signed body counts; a header that differs is refused.

    A CloudEvent has the names of an envelope too: event_id, ts and producer are its id, time and source.
    """
    return _read(headers, body, ("event_id", "type", "version", "ts"), lambda event: type(event["attempt"]) is int)


def read_acknowledgement(headers, body):
    """The notice that an event was handled by hand. A delivery is none, since some schemes do not sign the path."""
    return _read(headers, body, ("event_id", "handled_at"), lambda notice: "type" not in notice)


def _as_envelope(content):
    if not isinstance(content, dict) or "event_id" in content or content.get("specversion") != "1.0":
        return content
    named = {"event_id": content.get("id"), "ts": content.get("time"), "producer": content.get("source")}
    return {**content, **named}


def _no_json(text):
    raise ValueError(f"{text} is no JSON")


def _read(headers, body, texts, is_whole):
    try:
        content = _as_envelope(json.loads(body.decode(), parse_constant=_no_json))
        is_content = all(isinstance(content[name], str) and content[name] for name in texts) and is_whole(content)
    except (ValueError, LookupError, TypeError, RecursionError):
        is_content = False
    if not is_content:
        raise _unreadable("body_malformed")
    named = _joined(headers).get("x-event-id")
    if named is not None and named != content["event_id"]:
        raise _unreadable("event_id_differs")
    return content


def shared_key(written):
    """Bytes of a key: those of a text as they are, or the base64 after `whsec_`."""
    text = written.strip()
    if text.startswith(b"whsec_"):
        return _prefixed_key(text[6:])
    if _PREFIX.search(text) or text.startswith(b"-----BEGIN "):
        raise ValueError("the key is no shared key: write whsec_ and base64 alone")
    if len(written) < 32:
        raise ValueError("the key has fewer than 32 bytes")
    return written


def _prefixed_key(digits):
    try:
        key = base64.b64decode(digits.rstrip(b"=") + b"=" * (-len(digits.rstrip(b"=")) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError("the key is not base64 after whsec_") from error
    if not 24 <= len(key) <= 64:
        raise ValueError("the key has fewer than 24 or more than 64 bytes after whsec_")
    return key
