"""Asks a Prometheus API with prometheus-api-client: ask.py URL TOKEN, with one object of JSON on standard input."""

import datetime
import json
import sys

from prometheus_api_client import PrometheusConnect


def time_of(seconds):
    return datetime.datetime.fromtimestamp(seconds)


def ask(client, method, args):
    if method == "instant":
        return client.custom_query(args["query"], params={"time": args["time"]})
    if method == "range":
        start, end = time_of(args["start"]), time_of(args["end"])
        return client.custom_query_range(args["query"], start, end, args["step"])
    if method == "series":
        return client.get_series(time_of(args["start"]), time_of(args["end"]), params={"match[]": args["match"]})
    if method == "label_values":
        return client.get_label_values(args["label"])
    if method == "label_names":
        return client.get_label_names()
    if method == "all_metrics":
        return client.all_metrics()
    if method == "metadata":
        return client.get_metric_metadata(args["metric"])
    if method == "check":
        return client.check_prometheus_connection()
    raise ValueError(method)


def main():
    url, token = sys.argv[1:]
    asked = json.load(sys.stdin)
    headers = {"Authorization": f"Bearer {token}"}
    with PrometheusConnect(url=url, headers=headers, method=asked.get("http", "GET")) as client:
        answers = []
        for method, args in asked["calls"]:
            try:
                answers.append({"value": ask(client, method, args)})
            except Exception as error:  # The words that a user sees are what is tested.
                answers.append({"error": f"{type(error).__name__}: {error}"})
    json.dump(answers, sys.stdout)


main()
