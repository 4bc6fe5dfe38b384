import { expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { createContractChanges, noContracts } from "../../../runtime/preview/contract-changes.ts";
import type { StoredEvent } from "../../../runtime/webhooks/records/event-record.ts";
import { configOf } from "../webhooks/engine-fixture.ts";

const base = configOf();
const schema = { type: "object", properties: { n: { type: "integer", multipleOf: 3 } } };
const version = { version: "2026-01-01", schema, examples: [], state: "Active" } as const;
const type = { type: "payout.done", description: "Done.", versions: [version], sensitive: [] };
const origin = { uid: "u-1", namespace: "shop", name: "payouts", generation: 1, specDigest: "" };
const edit: RuntimeConfig = { ...base, eventCatalogs: [{ ...origin, owner: "team", types: [type] }] };

function eventOf(n: string): StoredEvent {
  const body = Buffer.from(`{"event_id":"e-${n}","type":"payout.done","version":"2026-01-01","data":{"n":${n}}}`);
  return { eventId: `e-${n}`, type: "payout.done", tenant: "acme", body } as unknown as StoredEvent;
}

test("an edited catalog judges every digit of a recorded number, as ingest does", () => {
  const changes = createContractChanges(base, edit, { rejectsUndeclared: false, nowMs: 0 });
  const tally = noContracts();
  // As a double, the first one is 9007199254740992, which is no multiple of 3.
  for (const n of ["9007199254740993", "9007199254740994", "4"]) changes?.addTo(tally, eventOf(n), []);
  expect(tally.rejected).toBe(2);
  expect(tally.types).toEqual([
    { type: "payout.done", version: "2026-01-01", code: "invalid_data", events: 2, ids: ["e-9007199254740994", "e-4"] },
  ]);
});
