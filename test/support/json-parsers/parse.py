"""Reads a JSON list of JSON texts and prints what each text's event.data.values holds; see json-parsers.ts."""

import json
import struct
import sys


def told(value):
    if isinstance(value, int):
        return f"integer {value}"
    if isinstance(value, float):
        return "double " + struct.pack(">d", value).hex()
    return "text " + value.encode("utf-8", "surrogatepass").hex()


def values_of(text):
    try:
        return [told(value) for value in json.loads(text)["event"]["data"]["values"]]
    except ValueError:
        return ["refused"]


print(json.dumps([values_of(text) for text in json.load(sys.stdin)]))
