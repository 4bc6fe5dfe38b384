"""Positive data is refused only for what no OpenAPI document can say: what the catalog holds, who asks, and when."""

import re

import schemathesis

NOT_OF_THE_DOCUMENT = [
    ("unknown_metric", r"the metric .* is not in the catalog; (did you mean .*)?choose one of /v1/metrics/catalog"),
    ("invalid_filter", r"no store of .* has the .*; use a different one(; .*)?"),
    ("invalid_filter", r"no objective visible to this caller has the domain .*; .*"),
    ("invalid_filter", r".* has filter\[.*\] and filter_in\[.*\]; use one of them"),
    ("invalid_time", r".* is not a time; .*"),
    ("invalid_filter", r".* has no label .*"),
    ("invalid_group_by", r".* has no label .*"),
    ("invalid_aggregation", r".* has no .*; (use|request|select) .*"),
    ("invalid_request", r"ask\.regions lacks ask\.region, .*; add it"),
    ("tenant_required", r"the request has no tenant; add .*"),
    ("invalid_request", r"queries has the id .* twice; use unique ids"),
    ("invalid_window", r".*"),
    ("invalid_downsample", r".*the window.*"),
    ("invalid_filter", r"the request has \d+ tenants; a response covers one tenant, so select one"),
    ("invalid_filter", r"the value of .* contains a NUL character; remove it"),
    ("invalid_filter", r"the value of .* looks like a (card|document) number.*"),
    ("invalid_compare", r".*"),
    ("invalid_top", r"(by|order) ranks the series of top; .*"),
    ("invalid_step", r"step=\d+[smhd] (is not a duration; use one such as .*|is longer than .*, the longest duration)"),
    ("invalid_step", r"step must be whole hours, such as 1h or 1d, at most \d+d"),
    ("invalid_step", r"the window is shorter than one point of .*"),
]


@schemathesis.check
def positive_data_is_understood(ctx, response, case):
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code not in (400, 422):
        return
    problem = response.json()
    code, detail = problem["code"], problem["detail"]
    known = any(code == one and re.fullmatch(form, detail, re.DOTALL) for one, form in NOT_OF_THE_DOCUMENT)
    assert known, f"valid data is refused with {code}: {detail}"
