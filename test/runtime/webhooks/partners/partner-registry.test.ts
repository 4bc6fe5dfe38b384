import { expect, test } from "vitest";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import { registryChanges, type RegisteredPartner } from "../../../../runtime/webhooks/partners/partner-registry.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

const [one] = compilePartners(configOf(partnerConfig("one", "http://127.0.0.1/")), []);
const partner = one ?? expect.fail("no partner");
const entry: RegisteredPartner = { token: partner.key, uid: partner.config.uid, label: partner.label };
const nowMs = 1_000_000;
const patienceMs = 60_000;

const rows: readonly (readonly [string, readonly (typeof partner)[], readonly RegisteredPartner[], object])[] = [
  ["a partner that is new is written down", [partner], [], { write: [entry], remove: [] }],
  ["one that is known changes nothing", [partner], [entry], { write: [], remove: [] }],
  ["one that is missed is marked", [], [entry], { write: [{ ...entry, removedAtMs: nowMs }], remove: [] }],
  [
    "one that came back is unmarked",
    [partner],
    [{ ...entry, removedAtMs: nowMs - patienceMs }],
    { write: [entry], remove: [] },
  ],
  ["one that was missed a moment ago stays", [], [{ ...entry, removedAtMs: nowMs - 1 }], { write: [], remove: [] }],
  [
    "one that was missed for long enough goes",
    [],
    [{ ...entry, removedAtMs: nowMs - patienceMs }],
    { write: [], remove: [{ ...entry, removedAtMs: nowMs - patienceMs }] },
  ],
];

test.each(rows)("%s", (_, partners, known, changes) => {
  expect(registryChanges(partners, known, nowMs, patienceMs)).toEqual(changes);
});
