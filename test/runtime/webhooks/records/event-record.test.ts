import * as fc from "fast-check";
import { expect, test } from "vitest";
import { scannedMessage } from "../../../../runtime/nats/messages/header-scan.ts";
import {
  eventHeaders,
  readEvent,
  readRecordedEvent,
  type StoredEvent,
} from "../../../../runtime/webhooks/records/event-record.ts";
import { clientMessage } from "../../nats/messages/client-message.ts";

const text = fc.stringMatching(/^[\w.:-]{1,30}$/u);
const optional = fc.option(text, { nil: undefined });
const subject = fc.constantFrom("hg.evt.acme.hash", "hg.evt.-.hash", "hg.other.acme.hash", "hg.evt.acme");

/** The part of an event that subscriptions match, with its id. */
function factsOf({ tenant, eventId, type, producer, about, only }: StoredEvent) {
  const optionals = Object.entries({ producer, about, only }).filter(([, value]) => value !== undefined);
  return { tenant, eventId, type, ...Object.fromEntries(optionals) };
}

test("the identity of a stored event is that of the whole event, and absent without one", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(text, text, optional, optional, optional, optional, subject, (eventId, type, producer, ...more) => {
      const [about, only, trace, subjectOf] = more;
      const envelope = {
        eventId,
        type,
        version: "1",
        ts: "",
        tenant: "acme",
        ...(producer === undefined ? {} : { producer }),
      };
      const named = { ...(about === undefined ? {} : { about }), ...(only === undefined ? {} : { only }), trace };
      const message = scannedMessage(
        clientMessage({ subject: subjectOf, fields: eventHeaders(envelope, "nonce", named) }),
      );
      const whole = readEvent(message);
      const identity = readRecordedEvent(message);
      expect(identity).toEqual(whole && factsOf(whole));
      seen.add(`${identity === undefined} ${producer === undefined} ${only === undefined}`);
    }),
    { seed: 7, numRuns: 200 },
  );
  expect(seen.size).toBe(8);
});

test.each([
  ["an id", { "Hg-Type": "a.b" }],
  ["a type", { "Hg-Event": "e" }],
])("a message without %s is no event", (_, fields) => {
  const message = scannedMessage(clientMessage({ subject: "hg.evt.acme.hash", fields }));
  expect([readEvent(message), readRecordedEvent(message)]).toEqual([undefined, undefined]);
});
