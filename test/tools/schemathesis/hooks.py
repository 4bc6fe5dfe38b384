"""What an OpenAPI document cannot say of two members: a window begins before it ends, and a list's not in the future."""

import datetime
import re

import schemathesis

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")


@schemathesis.hook
def before_call(context, case, kwargs):
    case.query = past_begin(in_order(case.query))
    case.body = in_order(case.body)


def in_order(members):
    start, end = bounds(members)
    if start is None or end is None or start < end:
        return members
    return {**members, "from": end, "to": start} if end < start else without(members, "to")


def past_begin(members):
    start, _ = bounds(members)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return members if start is None or start < now else without(members, "from")


def bounds(members):
    if not isinstance(members, dict):
        return None, None
    return tuple(value if is_time(value) else None for value in (members.get("from"), members.get("to")))


def is_time(value):
    return isinstance(value, str) and TIME.fullmatch(value) is not None


def without(members, name):
    return {key: value for key, value in members.items() if key != name}
