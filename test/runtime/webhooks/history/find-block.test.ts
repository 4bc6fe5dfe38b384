import { expect, test, vi } from "vitest";
import { waitWhy } from "../../../../console/events/failures-first.ts";
import {
  createCachedBlock,
  createFindBlock,
  type FindBlock,
  waitOf,
} from "../../../../runtime/webhooks/history/find-block.ts";
import type { DisabledMark } from "../../../../runtime/webhooks/partners/partner-holds.ts";
import type { OpenBreaker } from "../../../../runtime/webhooks/settlement/circuit-breaker.ts";
import type { PartnerOverrides } from "../engine-fixture.ts";
import { compiled } from "../memory-context.ts";

const at = "2026-01-01T00:00:00.000Z";
const pause = {
  kind: "open",
  sinceMs: Date.parse(at),
  untilMs: Date.parse(at) + 60_000,
  restMs: 1,
  failures: 20,
} as const;
const limited: OpenBreaker = { ...pause, cause: "rate_limited" };
const until = "2026-01-01T00:01:00.000Z";
const open: OpenBreaker = { ...pause, cause: "failures" };
const held: PartnerOverrides = { held: "unresolved", state: "Paused" };
const ended = ["2025-12-30", "2025-12-31"].map((day, index) => {
  return { id: String(index), material: "m", notAfterMs: Date.parse(day) };
});
const keyless: PartnerOverrides = { signing: { scheme: "HmacV1", keys: [] } };

test.each<[string, PartnerOverrides, DisabledMark | undefined, OpenBreaker | undefined, unknown]>([
  ["nothing", {}, undefined, undefined, undefined],
  ["that is held", held, undefined, open, { kind: "held", reason: "unresolved", since: null, until: null }],
  [
    "that is paused",
    { state: "Paused" },
    undefined,
    limited,
    { kind: "paused", reason: null, since: null, until: null },
  ],
  [
    "that is paused since a known time",
    { state: "Paused", waitsSinceMs: Date.parse(at) },
    undefined,
    undefined,
    { kind: "paused", reason: null, since: at, until: null },
  ],
  [
    "that was paused before times were noted",
    { state: "Paused", waitsSinceMs: Date.parse(at), waitsLonger: true },
    undefined,
    undefined,
    { kind: "paused", reason: null, since: at, since_at_latest: true, until: null },
  ],
  [
    "that is held since a known time",
    { ...held, waitsSinceMs: Date.parse(at) },
    undefined,
    undefined,
    { kind: "held", reason: "unresolved", since: at, until: null },
  ],
  [
    "whose last key has ended",
    { signing: { scheme: "HmacV1", keys: ended } },
    undefined,
    undefined,
    { kind: "keyless", reason: "no signing key is valid", since: "2025-12-31T00:00:00.000Z", until: null },
  ],
  [
    "whose pause is over, and that is probed",
    {},
    undefined,
    { ...open, untilMs: Date.parse(at) },
    { kind: "circuit_open", reason: "20 consecutive failures", since: at, until: null },
  ],
  [
    "that responded 410",
    {},
    { at } as DisabledMark,
    open,
    { kind: "disabled", reason: "status_410", since: at, until: null },
  ],
  [
    "without a key",
    keyless,
    undefined,
    undefined,
    { kind: "keyless", reason: "no signing key is valid", since: null, until: null },
  ],
  ["that failed", {}, undefined, open, { kind: "circuit_open", reason: "20 consecutive failures", since: at, until }],
  [
    "that sent a Retry-After",
    {},
    undefined,
    limited,
    { kind: "rate_limited", reason: "Retry-After", since: at, until },
  ],
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
  expect(block).toEqual({
    kind: "held",
    reason: "unresolved: SecretNotFound: partners/nosuch",
    since: null,
    until: null,
  });
  expect(waitWhy(block)).toBe("The partner is held: the Secret partners/nosuch is missing");
});

test("a delivery waits for its partner first, then for its own time, then for its turn", () => {
  const retry = { kind: "retry", atMs: Date.parse(at), reason: "status_503" } as const;
  const last = { at: "2025-12-31T00:00:00.000Z", settlement: retry };
  const standing = { state: "in_delivery", reason: "status_503", next_attempt_at: at };
  const block = { kind: "paused", reason: null, since: null, until: null } as const;
  expect(waitOf(standing, { block }, last)).toBe(block);
  expect(waitOf(standing, {}, last)).toEqual({ kind: "retry", reason: "status_503", since: last.at, until: at });
  const due = { ...standing, next_attempt_at: null };
  expect(waitOf(due, {}, last)).toEqual({ kind: "turn", reason: "status_503", since: at, until: null });
  expect(waitOf({ ...standing, state: "delivered" }, { block }, last)).toBeNull();
});

test("lists look a partner up once a second, however many deliveries they show", async () => {
  let reads = 0;
  const find = createCachedBlock(async () => {
    reads += 1;
    return undefined;
  });
  const [one, two] = [compiled("one"), compiled("two")];
  await Promise.all([one, one, two, one].map(find));
  expect(reads).toBe(2);
});

test("lists look a partner up again after a failure", async () => {
  const failing = vi.fn<FindBlock>(async () => Promise.reject(new Error("no responders")));
  const find = createCachedBlock(failing);
  const one = compiled("one");
  await expect(find(one)).rejects.toThrow("no responders");
  await expect(find(one)).rejects.toThrow("no responders");
  expect(failing).toHaveBeenCalledTimes(2);
});
