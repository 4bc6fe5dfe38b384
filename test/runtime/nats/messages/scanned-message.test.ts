import { expect, test } from "vitest";
import { headerMark } from "../../../../runtime/nats/messages/headers.ts";
import { scannedMessage } from "../../../../runtime/nats/messages/header-scan.ts";
import { clientMessage, opaqueMessage } from "./client-message.ts";

const fields = { "Hg-Event-Old": "no", "Hg-Event": "evt-1", "hg-type": "lower", Empty: "", Text: "Grüße: 世界" };
const content = {
  subject: "hg.evt.acme.hash",
  fields,
  body: "Hg-Body: no\r\n",
  seq: 17,
  storedAtMs: 1_767_323_045_678,
};

test.each([
  ["the bytes of its headers", clientMessage(content)],
  ["the client's headers alone", opaqueMessage(content)],
])("a message of a scan is read from %s", (_, message) => {
  const scanned = scannedMessage(message);
  const { subject, seq, storedAtMs, headers, data } = scanned;
  expect({ subject, seq, storedAtMs, headers, body: Buffer.from(data).toString() }).toEqual({
    subject: content.subject,
    seq: content.seq,
    storedAtMs: content.storedAtMs,
    headers: fields,
    body: content.body,
  });
  for (const name of [...Object.keys(fields), "Hg-Body", "Hg", "Event", "Absent"])
    expect([name, scanned.header(headerMark(name))]).toEqual([name, headers[name]]);
});
