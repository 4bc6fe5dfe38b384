import { expect, test } from "vitest";
import { waitWhy } from "../../../../console/events/wait-why.ts";
import { createFindBlock, waitOf } from "../../../../runtime/webhooks/history/delivery-wait.ts";
import type { DisabledMark } from "../../../../runtime/webhooks/partners/disabled-partners.ts";
import type { OpenBreaker } from "../../../../runtime/webhooks/settlement/circuit-breaker.ts";
import type { PartnerOverrides } from "../engine-fixture.ts";
import { compiled } from "../memory-context.ts";

const at = "2026-01-01T00:00:00.000Z";
const pause = { kind: "open", sinceMs: Date.parse(at), untilMs: 0, restMs: 1, failures: 20 } as const;
const limited: OpenBreaker = { ...pause, cause: "rate_limited" };
const open: OpenBreaker = { ...pause, cause: "failures" };
const held: PartnerOverrides = { held: "unresolved", state: "Paused" };
const keyless: PartnerOverrides = { signing: { scheme: "HmacV1", keys: [] } };

test.each<[string, PartnerOverrides, DisabledMark | undefined, OpenBreaker | undefined, unknown]>([
  ["nothing", {}, undefined, undefined, undefined],
  ["that is held", held, undefined, open, { kind: "held", reason: "unresolved", since: null }],
  ["that is paused", { state: "Paused" }, undefined, limited, { kind: "paused", reason: null, since: null }],
  ["that responded 410", {}, { at } as DisabledMark, open, { kind: "disabled", reason: "status_410", since: at }],
  ["without a key", keyless, undefined, undefined, { kind: "keyless", reason: "no signing key is valid", since: null }],
  ["that failed", {}, undefined, open, { kind: "circuit_open", reason: "20 failures in a row", since: at }],
  ["that sent a Retry-After", {}, undefined, limited, { kind: "rate_limited", reason: "Retry-After", since: at }],
])("deliveries to a partner wait for: %s", async (_, overrides, mark, stored, expected) => {
  const find = createFindBlock({
    disabled: { find: async () => mark },
    holds: { read: async () => stored },
    now: () => Date.parse(at),
  });
  expect(await find(compiled("one", overrides))).toEqual(expected);
});

test("an unresolved partner names what is missing", async () => {
  const one = compiled("one", held);
  const partner = { ...one, config: { ...one.config, heldBy: "SecretNotFound: partners/nosuch" } };
  const none = { disabled: { find: async () => undefined }, holds: { read: async () => undefined }, now: () => 0 };
  const block = await createFindBlock(none)(partner);
  expect(block).toEqual({ kind: "held", reason: "unresolved: SecretNotFound: partners/nosuch", since: null });
  expect(waitWhy(block)).toBe("The partner is held: unresolved: SecretNotFound: partners/nosuch");
});

test("a delivery waits for its partner first, then for its own time, then for its turn", () => {
  const retry = { kind: "retry", atMs: Date.parse(at), reason: "status_503" } as const;
  const last = { at: "2025-12-31T00:00:00.000Z", settlement: retry };
  const standing = { state: "in_delivery", reason: "status_503", next_attempt_at: at };
  const block = { kind: "paused", reason: null, since: null } as const;
  expect(waitOf(standing, { block }, last)).toBe(block);
  expect(waitOf(standing, {}, last)).toEqual({ kind: "retry", reason: "status_503", since: last.at });
  const due = { ...standing, next_attempt_at: null };
  expect(waitOf(due, {}, last)).toEqual({ kind: "turn", reason: "status_503", since: at });
  expect(waitOf({ ...standing, state: "delivered" }, { block }, last)).toBeNull();
});
