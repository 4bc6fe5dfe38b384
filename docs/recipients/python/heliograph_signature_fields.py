"""The headers of RFC 9421: `Signature-Input`, `Signature` and `Content-Digest`. Source: RFC 9651 §4.2, RFC 9421 §4."""

import base64
import binascii
import re

FIELD_CHARACTERS_MAX = 8_192

_STRING = r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"'
_NAME, _TOKEN = r"[a-z*][a-z0-9_.*-]*", r"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*"
_VALUE = rf"-?[0-9]{{1,15}}(?:\.[0-9]{{1,3}})?|{_STRING}|\?[01]|:[A-Za-z0-9+/=]*:|{_TOKEN}"
_PARAMETER = re.compile(rf";[ ]*({_NAME})(?:=({_VALUE}))?")
_PARAMETERS = rf"(?:;[ ]*{_NAME}(?:=(?:{_VALUE}))?)*"
_COMPONENT = rf"{_STRING}{_PARAMETERS}"
_INPUT = re.compile(rf"({_NAME})=((\((?:[ ]*{_COMPONENT}(?:[ ]+{_COMPONENT})*)?[ ]*\))({_PARAMETERS}))")
_BYTES = re.compile(rf"({_NAME})=:([A-Za-z0-9+/]*={{0,2}}):{_PARAMETERS}")
_COMMA = re.compile(r"[ \t]*,[ \t]*")


def signature_inputs(field):
    """Members of Signature-Input by label: components, parameters by name, and the member's text. None: malformed."""
    members = _members(field, _INPUT)
    if members is None:
        return None
    return {
        label: (_strings(components), {name: _value(value) for name, value in _PARAMETER.findall(parameters)}, text)
        for label, (text, components, parameters) in members.items()
    }


def byte_sequences(field):
    """The bytes of each member of Signature or Content-Digest. None: malformed."""
    members = _members(field, _BYTES)
    return members and {label: _decoded(text) for label, (text,) in members.items()}


def signature_base(values, components, text):
    """The signed bytes. Source: RFC 9421 §2.5."""
    lines = [f"{_quoted(name)}: {values[name]}" for name in components]
    return "\n".join([*lines, f'"@signature-params": {text}']).encode()


def _members(field, form):
    found, position = {}, 0
    while len(field) <= FIELD_CHARACTERS_MAX:
        match = form.match(field, position)
        if match is None or match[1] in found:
            return None
        found[match[1]] = match.groups()[1:]
        if match.end() == len(field):
            return found
        comma = _COMMA.match(field, match.end())
        if comma is None:
            return None
        position = comma.end()
    return None


def _strings(text):
    """A component with parameters is none that a request has here, so that its signature does not count."""
    names = [_unquoted(one) for one in re.findall(_STRING, text)]
    return [*names, ";"] if ";" in re.sub(_STRING, "", text) else names


def _value(text):
    """A value of another type keeps its text behind an equals sign, which no time and no key id has."""
    if text.startswith('"'):
        return _unquoted(text)
    return int(text) if re.fullmatch(r"-?[0-9]{1,15}", text) else "=" + text


def _quoted(text):
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _unquoted(text):
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _decoded(text):
    digits = text.rstrip("=")
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4))
    except binascii.Error:
        return b""
