import { expect, test } from "vitest";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import { registryChanges, type RegisteredPartner } from "../../../../runtime/webhooks/partners/partner-registry.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

const [one] = compilePartners(configOf(partnerConfig("one", "http://127.0.0.1/")), []);
const partner = one ?? expect.fail("no partner");
const entry: RegisteredPartner = { token: partner.key, uid: partner.config.uid, label: partner.label };
const nowMs = 1_000_000;
const removedAfterMs = 60_000;

const rows: readonly (readonly [string, readonly (typeof partner)[], readonly RegisteredPartner[], object])[] = [
  ["a new partner is registered", [partner], [], { write: [entry], remove: [] }],
  ["a registered partner changes nothing", [partner], [entry], { write: [], remove: [] }],
  ["a missing partner is marked", [], [entry], { write: [{ ...entry, removedAtMs: nowMs }], remove: [] }],
  [
    "a partner that is configured again is unmarked",
    [partner],
    [{ ...entry, removedAtMs: nowMs - removedAfterMs }],
    { write: [entry], remove: [] },
  ],
  ["a partner that has just been marked stays", [], [{ ...entry, removedAtMs: nowMs - 1 }], { write: [], remove: [] }],
  [
    "a partner that was missing for long enough is removed",
    [],
    [{ ...entry, removedAtMs: nowMs - removedAfterMs }],
    { write: [], remove: [{ ...entry, removedAtMs: nowMs - removedAfterMs }] },
  ],
];

test.each(rows)("%s", (_, partners, known, changes) => {
  expect(registryChanges({ partners, mayExist: () => false }, known, nowMs, removedAfterMs)).toEqual(changes);
});

test.each<[string, RegisteredPartner, readonly RegisteredPartner[]]>([
  ["that is not marked changes nothing", entry, []],
  ["that was missing for long is unmarked", { ...entry, removedAtMs: nowMs - removedAfterMs }, [entry]],
])("a partner that exists without configuration and %s", (_, known, write) => {
  const configured = { partners: [], mayExist: (token: string) => token === partner.key };
  expect(registryChanges(configured, [known], nowMs, removedAfterMs)).toEqual({ write, remove: [] });
});
