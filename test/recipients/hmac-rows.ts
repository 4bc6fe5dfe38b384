import { hash } from "node:crypto";
import {
  accepted,
  after,
  bodyText,
  event,
  faulty,
  newKey,
  newSecret,
  oldKey,
  oldSecret,
  path,
  refused,
  sent,
  shared,
  timestamp,
  valid,
  withHeaders,
  without,
  type Change,
  type Row,
} from "./vector-rows.ts";

const textWithQuery = `${path}?source=test`;
const bodyHash = hash("sha256", bodyText, "hex");
const signature = valid["X-Signature"] ?? "";

/** `é` in two spellings, an emoji and a line feed: the signature covers bytes, never text that is written again. */
const utf8Body = JSON.stringify({ ...event, data: { note: "café cafe\u0301 🛰 日本\n" } });
const spacedBody = `${JSON.stringify(event, null, 2)}\n`;
const { event_id: id, ts: time, ...attributes } = event;
const timeless = JSON.stringify({ specversion: "1.0", id, source: "payments", ...attributes });
const cloudEvent = JSON.stringify({ specversion: "1.0", id, source: "payments", time, ...attributes });
const otherCase = JSON.stringify({ ...event, Event_Id: "evt-other", TYPE: "other", Attempt: "x", Data: {} });
const onlyOtherCase = JSON.stringify({ Event_Id: id, ts: time, ...attributes });
const withoutNumber = JSON.stringify({ ...event, data: { rate: 0 } }).replace('"rate":0', '"rate":NaN');
const unknown = (count: number): string[] => Array.from({ length: count }, (_, index) => `v${index + 2}=abc`);
const signedTwice = sent({ keys: [shared(newSecret), shared(oldSecret)] });
const mixed = (signatures: number): string => Array.from({ length: signatures }, () => signature).join(",");

/** Deliveries of the scheme HmacV1. */
export const hmacRows: readonly Row[] = [
  ["hmac-v1", "A delivery as the sender makes it.", accepted],
  ["hmac-v1-age-300-s", "The window includes its edge: 300 s.", accepted, { now: after(300) }],
  ["hmac-v1-ahead-300-s", "The recipient's clock is 300 s behind.", accepted, { now: after(-300) }],
  ["hmac-v1-age-301-s", "Older than the window.", refused("timestamp_outside_window"), { now: after(301) }],
  ["hmac-v1-ahead-301-s", "Further ahead than the window.", refused("timestamp_outside_window"), { now: after(-301) }],
  [
    "hmac-v1-age-300-s-and-1-ms",
    "The window counts milliseconds.",
    refused("timestamp_outside_window"),
    { now: after(300, 1) },
  ],
  [
    "hmac-v1-query-not-signed",
    "A proxy added a query. The signed path ends before it.",
    accepted,
    { path: textWithQuery },
  ],
  [
    "hmac-v1-query-signed",
    "The signature covers the path with its query, which no sender does.",
    refused("signature_mismatch"),
    { path: textWithQuery, headers: faulty([timestamp, "POST", textWithQuery, bodyHash]) },
  ],
  ["hmac-v1-other-path", "A proxy cut a prefix off the path.", refused("signature_mismatch"), { path: "/v1/payout" }],
  [
    "hmac-v1-hash-in-upper-case",
    "The hash of the body is lower-case hex.",
    refused("signature_mismatch"),
    { headers: faulty([timestamp, "POST", path, bodyHash.toUpperCase()]) },
  ],
  [
    "hmac-v1-hash-in-base64",
    "The hash of the body is hex, not base64.",
    refused("signature_mismatch"),
    { headers: faulty([timestamp, "POST", path, hash("sha256", bodyText, "base64")]) },
  ],
  [
    "hmac-v1-line-feed-at-the-end",
    "No line feed ends the signed text.",
    refused("signature_mismatch"),
    { headers: faulty([timestamp, "POST", path, bodyHash, ""]) },
  ],
  ["hmac-v1-method-in-lower-case", "The signed method is in upper case always.", accepted, { method: "post" }],
  [
    "hmac-v1-lower-case-method-signed",
    "The signature covers the method in lower case.",
    refused("signature_mismatch"),
    { headers: faulty([timestamp, "post", path, bodyHash]) },
  ],
  ["hmac-v1-other-method", "The signature covers the method.", refused("signature_mismatch"), { method: "PUT" }],
  [
    "hmac-v1-body-changed-by-one-byte",
    "One digit of the amount differs.",
    refused("signature_mismatch"),
    { body: bodyText.replace("1050", "1051") },
  ],
  [
    "hmac-v1-body-written-again",
    "The same JSON with other blanks has other bytes.",
    refused("signature_mismatch"),
    { body: spacedBody },
  ],
  [
    "hmac-v1-body-with-blanks",
    "The sender's own blanks are signed as they are.",
    accepted,
    { body: spacedBody, headers: sent({ body: spacedBody }) },
  ],
  [
    "hmac-v1-body-in-utf-8",
    "Letters beyond ASCII are signed as their bytes.",
    accepted,
    { body: utf8Body, headers: sent({ body: utf8Body }) },
  ],
  [
    "hmac-v1-old-key",
    "During a rotation the recipient knows the new and the old key; the old one signed.",
    { ...accepted, key: oldKey.id },
    { secrets: [newKey, oldKey], headers: sent({ keys: [shared(oldSecret)] }) },
  ],
  [
    "hmac-v1-two-signatures",
    "Both keys sign; the recipient knows the new one only.",
    accepted,
    { headers: signedTwice },
  ],
  [
    "hmac-v1-second-signature",
    "Both keys sign; the recipient knows the old one only.",
    { ...accepted, key: oldKey.id },
    { secrets: [oldKey], headers: signedTwice },
  ],
  [
    "hmac-v1-eight-signatures",
    "A header has at most eight signatures.",
    accepted,
    { headers: withHeaders({ "X-Signature": mixed(8) }) },
  ],
  [
    "hmac-v1-nine-signatures",
    "A ninth entry is not read.",
    accepted,
    { headers: withHeaders({ "X-Signature": mixed(9) }) },
  ],
  [
    "hmac-v1-ninth-entry",
    "The valid signature is the ninth entry, which is not read.",
    refused("signature_malformed"),
    { headers: withHeaders({ "X-Signature": `${"v2=abc,".repeat(8)}${signature}` }) },
  ],
  [
    "hmac-v1-unknown-entry",
    "Entries of later versions and of others are beside a valid one.",
    accepted,
    { headers: withHeaders({ "X-Signature": `v2=abc,,t=1, ${signature} ,v1=short` }) },
  ],
  [
    "hmac-v1-unknown-entry-and-another-key",
    "An unknown entry makes no other entry valid.",
    refused("signature_mismatch"),
    { secrets: [oldKey], headers: withHeaders({ "X-Signature": `v2=abc,${signature}` }) },
  ],
  ["hmac-v1-unknown-key", "No known key signed.", refused("signature_mismatch"), { secrets: [oldKey] }],
  [
    "hmac-v1-no-padding",
    "The base64 lacks its padding.",
    refused("signature_malformed"),
    { headers: withHeaders({ "X-Signature": signature.replace(/=$/u, "") }) },
  ],
  [
    "hmac-v1-url-alphabet",
    "The base64 has the alphabet of URLs.",
    refused("signature_malformed"),
    { headers: withHeaders({ "X-Signature": `v1=-_${signature.slice(5)}` }) },
  ],
  [
    "hmac-v1-spare-bits",
    "A lenient decoder reads the same 32 bytes from this other text.",
    refused("signature_mismatch"),
    { headers: withHeaders({ "X-Signature": otherSpareBits(signature) }) },
  ],
  [
    "hmac-v1-hexadecimal",
    "The signature is base64, not hex.",
    refused("signature_malformed"),
    { headers: withHeaders({ "X-Signature": `v1=${Buffer.from(signature.slice(3), "base64").toString("hex")}` }) },
  ],
  [
    "hmac-v1-other-version",
    "A recipient of v1 refuses v2.",
    refused("signature_malformed"),
    { headers: withHeaders({ "X-Signature": signature.replace("v1=", "v2=") }) },
  ],
  [
    "hmac-v1-timestamp-without-milliseconds",
    "The text of the header is signed, so it is never written again.",
    accepted,
    signedAt("2026-01-02T03:04:05Z"),
  ],
  [
    "hmac-v1-timestamp-with-nanoseconds",
    "A fraction has one to nine digits.",
    accepted,
    signedAt("2026-01-02T03:04:05.678901234Z"),
  ],
  [
    "hmac-v1-timestamp-written-again",
    "The same time in another precision is another text.",
    refused("signature_mismatch"),
    { headers: withHeaders({ "X-Timestamp": timestamp.replace("678Z", "678000Z") }) },
  ],
  [
    "hmac-v1-timestamp-with-offset",
    "Times are in UTC and end in Z.",
    refused("timestamp_malformed"),
    signedAt("2026-01-02T03:04:05.678+00:00"),
  ],
  [
    "hmac-v1-timestamp-in-seconds",
    "Unix seconds are no such time.",
    refused("timestamp_malformed"),
    signedAt("1767323045"),
  ],
  [
    "hmac-v1-timestamp-of-no-day",
    "No year has 30 February.",
    refused("timestamp_malformed"),
    { ...signedAt("2026-02-30T03:04:05.678Z"), now: "2026-03-02T03:04:05.678Z" },
  ],
  [
    "hmac-v1-timestamp-of-hour-24",
    "A day has the hours 00 to 23.",
    refused("timestamp_malformed"),
    { ...signedAt("2026-01-01T24:00:00.000Z"), now: "2026-01-02T00:00:01.000Z" },
  ],
  [
    "hmac-v1-no-signature",
    "X-Signature is missing.",
    refused("signature_missing"),
    { headers: without("X-Signature") },
  ],
  [
    "hmac-v1-no-timestamp",
    "X-Timestamp is missing.",
    refused("timestamp_missing"),
    { headers: without("X-Timestamp") },
  ],
  [
    "hmac-v1-header-names-in-lower-case",
    "Names of headers have no case.",
    accepted,
    { headers: Object.fromEntries(Object.entries(valid).map(([name, value]) => [name.toLowerCase(), value])) },
  ],
  [
    "hmac-v1-blanks-around-entries",
    "A proxy writes blanks around entries, which HTTP does not count.",
    accepted,
    { headers: withHeaders({ "X-Signature": `v2=abc \t,\t ${signature} , ` }) },
  ],
  [
    "hmac-v1-other-white-space",
    "A no-break space and a line separator are no blanks of HTTP.",
    refused("signature_malformed"),
    { headers: withHeaders({ "X-Signature": `\u00a0${signature}\u2028` }) },
  ],
  [
    "hmac-v1-hundred-entries",
    "The first eight entries are read, of which the last one is valid.",
    accepted,
    { headers: withHeaders({ "X-Signature": [...unknown(7), signature, ...unknown(92)].join(",") }) },
  ],
  [
    "hmac-v1-member-in-another-case",
    "Names of members have a case: the event is that of the sender.",
    accepted,
    { body: otherCase, headers: sent({ body: otherCase }) },
  ],
  [
    "hmac-v1-only-in-another-case",
    "Without its own names, the body is no event.",
    refused("body_malformed", 400),
    { body: onlyOtherCase, headers: sent({ body: onlyOtherCase }) },
  ],
  [
    "hmac-v1-byte-order-mark",
    "JSON has no byte order mark (RFC 8259 §8.1).",
    refused("body_malformed", 400),
    { body: `\ufeff${bodyText}`, headers: sent({ body: `\ufeff${bodyText}` }) },
  ],
  [
    "hmac-v1-no-number",
    "NaN is no JSON.",
    refused("body_malformed", 400),
    { body: withoutNumber, headers: sent({ body: withoutNumber }) },
  ],
  [
    "hmac-v1-replayed-id",
    "The event had its effect before: nothing happens, and the response is 200.",
    { ...accepted, result: "duplicate" },
    { seen: ["evt_1"] },
  ],
  [
    "hmac-v1-other-event-id",
    "X-Event-Id is not signed. The id in the signed body counts, and a header that differs is refused.",
    refused("event_id_differs", 400),
    { headers: withHeaders({ "X-Event-Id": "evt_2" }) },
  ],
  [
    "hmac-v1-cloudevent-seen",
    "A partner may receive CloudEvents. The id of one is the id of the event.",
    { ...accepted, result: "duplicate" },
    { body: cloudEvent, headers: sent({ body: cloudEvent }), seen: ["evt_1"] },
  ],
  [
    "hmac-v1-cloudevent-other-event-id",
    "X-Event-Id differs from the id of a CloudEvent.",
    refused("event_id_differs", 400),
    { body: cloudEvent, headers: sent({ body: cloudEvent, eventId: "evt_2" }) },
  ],
  [
    "hmac-v1-cloudevent-without-time",
    "The product sends no CloudEvent without a time.",
    refused("body_malformed", 400),
    { body: timeless, headers: sent({ body: timeless }) },
  ],
  [
    "hmac-v1-body-not-json",
    "The signature is valid, the body is no event.",
    refused("body_malformed", 400),
    { body: "payout", headers: sent({ body: "payout" }) },
  ],
];

function otherSpareBits(text: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const last = alphabet.indexOf(text.at(-2) ?? "");
  return `${text.slice(0, -2)}${alphabet[last ^ 1]}=`;
}

function signedAt(written: string): Change {
  return { headers: faulty([written, "POST", path, bodyHash], { "X-Timestamp": written }) };
}
