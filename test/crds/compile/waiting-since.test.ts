import { expect, test } from "vitest";
import type { PartnerConfig, RuntimeConfig } from "../../../crds/config.ts";
import { WaitingSince } from "../../../crds/compile/waiting-since.ts";

type Standing = Pick<PartnerConfig, "state" | "held" | "waitsSinceMs" | "waitsLonger">;

const partner = (standing: Partial<Standing>): PartnerConfig =>
  ({ uid: "u", namespace: "default", name: "acme", state: "Active", ...standing }) as PartnerConfig;
const paused = { state: "Paused" } as const;
const held = { state: "Paused", held: "unresolved" } as const;
const nowMs = 9_000;

/** The time noted; `longer` if it waits longer. */
function sinceOf(present: PartnerConfig, last: PartnerConfig | undefined): readonly unknown[] {
  const config = { partners: [present] } as unknown as RuntimeConfig;
  const { waitsSinceMs, waitsLonger } = new WaitingSince().note(config, () => last, nowMs).partners[0] ?? {};
  return waitsLonger === true ? [waitsSinceMs, "longer"] : [waitsSinceMs];
}

test.each<[string, Partial<Standing>, Partial<Standing> | undefined, number | undefined, "longer"?]>([
  ["that is active", {}, undefined, undefined],
  ["that is active again", {}, { ...paused, waitsSinceMs: 5 }, undefined],
  ["that stands in for a paused one", { waitsSinceMs: 5 }, { ...paused, waitsSinceMs: 5 }, undefined],
  ["that is new and paused", paused, undefined, nowMs],
  ["that was active", paused, {}, nowMs],
  ["that was paused before", paused, { ...paused, waitsSinceMs: 5 }, 5],
  ["that an earlier version paused", paused, paused, nowMs, "longer"],
  ["that an earlier version held", held, held, nowMs, "longer"],
  ["that waits longer", paused, { ...paused, waitsSinceMs: 5, waitsLonger: true }, 5, "longer"],
  ["that waits longer for another reason", held, { ...paused, waitsSinceMs: 5, waitsLonger: true }, nowMs],
  ["that is active again after a longer wait", {}, { ...paused, waitsSinceMs: 5, waitsLonger: true }, undefined],
  ["that was paused and is held", held, { ...paused, waitsSinceMs: 5 }, nowMs],
  ["that is held as before", held, { ...held, waitsSinceMs: 5 }, 5],
  ["that is held for another reason", held, { ...held, held: "conflicted", waitsSinceMs: 5 }, nowMs],
])("a partner %s waits since the right time", (_, present, last, ...expected) => {
  expect(sinceOf(partner(present), last === undefined ? undefined : partner(last))).toEqual(expected);
});

test("a partner keeps its time and its object until it is published", () => {
  const since = new WaitingSince();
  const config = { partners: [partner(paused)] } as unknown as RuntimeConfig;
  const first = since.note(config, () => undefined, 1).partners[0];
  const second = since.note(config, () => undefined, 2).partners[0];
  expect(second).toBe(first);
  expect(since.note(config, () => first, 3).partners[0]).toBe(first);
  expect(since.note(config, () => partner({ ...paused, waitsSinceMs: 0 }), 4).partners[0]?.waitsSinceMs).toBe(0);
});
