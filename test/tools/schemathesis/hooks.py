"""What an OpenAPI document cannot say of two members: a window begins before it ends, a list's not in the future, and
statistics have few steps of days that are kept. The base64 of a CloudEvent contains JSON. A dry run accepts one event. No request waits for events longer than a second, and only after a
cursor."""

import datetime
import re

import schemathesis

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
WAITS = [str(seconds) for seconds in range(2, 26)]


@schemathesis.hook
def before_call(context, case, kwargs):
    query = short_wait(kept_window(case.path, few_steps(case.path, past_begin(in_order(case.query)))))
    body = without_base64(in_order(case.body))
    if case.path == "/events":
        query = explained(query, body)
    # What is assigned is judged again, and an optional body that is absent then counts as invalid.
    if query is not case.query:
        case.query = query
    if body is not case.body:
        case.body = body


def explained(query, body):
    """A batch has no dry run, and the other parameters are for one."""
    if not isinstance(query, dict) or (query.get("dry_run") == "true" and not isinstance(body, list)):
        return query
    extra = [name for name in ("partner", "limit", "cursor") if name in query]
    dry = ["dry_run"] if isinstance(body, list) and query.get("dry_run") == "true" else []
    for name in extra + dry:
        query = without(query, name)
    return query


def in_order(members):
    start, end = bounds(members)
    if start is None or end is None or start < end:
        return members
    return {**members, "from": end, "to": start} if end < start else without(members, "to")


def without_base64(body):
    if isinstance(body, list):
        return [without_base64(item) for item in body] if any(has_base64(item) for item in body) else body
    return without(body, "data_base64") if has_base64(body) else body


def has_base64(body):
    return isinstance(body, dict) and isinstance(body.get("data_base64"), str)


def past_begin(members):
    start, _ = bounds(members)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return members if start is None or start < now else without(members, "from")


def few_steps(path, members):
    if not path.endswith("/stats") or not isinstance(members, dict):
        return members
    if not is_duration(members.get("step")):
        return members
    return {**without(without(members, "from"), "to"), "step": "5m"}


def kept_window(path, members):
    if path != "/webhooks/stats" or not isinstance(members, dict) or bounds(members) == (None, None):
        return members
    return without(without(members, "from"), "to")


def short_wait(members):
    wait = members.get("wait") if isinstance(members, dict) else None
    if str(wait) not in ["1", *WAITS]:
        return members
    if members.get("order") == "desc" or "cursor" not in members:
        return without(members, "wait")
    return {**members, "wait": 1}


def is_duration(value):
    return isinstance(value, str) and re.fullmatch(r"\d+[smhd]", value) is not None


def bounds(members):
    if not isinstance(members, dict):
        return None, None
    return tuple(value if is_time(value) else None for value in (members.get("from"), members.get("to")))


def is_time(value):
    return isinstance(value, str) and TIME.fullmatch(value) is not None


def without(members, name):
    return {key: value for key, value in members.items() if key != name}
