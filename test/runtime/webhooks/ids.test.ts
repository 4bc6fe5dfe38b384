import * as fc from "fast-check";
import { expect, test } from "vitest";
import { deliveryId, eventHash, messageId, partnerKey } from "../../../runtime/webhooks/ids.ts";

// What is stored outlives the program: a change of these values loses every delivery under way.
test.each([
  ["partner token", partnerKey("0d2c8a3e-6f0b-4c55-9f0e-1a2b3c4d5e6f"), "6PMAeNfeYZpJGP8a"],
  ["event hash", eventHash("evt_01HX"), "HKW6HJkLhwlpGnKvYQMxN4"],
  ["delivery id", deliveryId("acme", "evt_01HX", "0d2c8a3e-6f0b-4c55-9f0e-1a2b3c4d5e6f"), "FyXht7YmmifTuzkBAM1COp"],
  ["message id", messageId({ did: "abc", generation: 2, attempt: 3, hop: 1 }), "abc:2:3:1"],
])("the %s of known input never changes", (_name, made, expected) => {
  expect(made).toBe(expected);
});

test("hashes are safe as subject tokens and names for any input", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), (tenant, eventId, uid) => {
      const made = [partnerKey(uid), eventHash(eventId), deliveryId(tenant, eventId, uid)];
      expect(made.every((token) => /^[A-Za-z0-9_-]{16,22}$/u.test(token))).toBe(true);
    }),
  );
});

test("deliveries differ when tenant, event or partner does", () => {
  const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/u);
  fc.assert(
    fc.property(fc.tuple(word, word, word), fc.tuple(word, word, word), (a, b) => {
      expect(deliveryId(...a) === deliveryId(...b)).toBe(a.join("\n") === b.join("\n"));
    }),
  );
});
