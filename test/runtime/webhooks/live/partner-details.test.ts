import { expect, test } from "vitest";
import { createPartnerList } from "../../../../runtime/webhooks/history/partner-list.ts";
import { liveStateOf, liveViewOf, createPartnerDetails } from "../../../../runtime/webhooks/live/live-state.ts";
import { compiled } from "../memory-context.ts";

const all = "*";
const open = { kind: "open", cause: "failures", sinceMs: 0, untilMs: 9_000, restMs: 1, failures: 1 } as const;
const live = liveStateOf(open, 2, { backlog: 7, oldestDueAtMs: 1_000 }, 5_000);

test.each<[string, readonly string[], readonly string[], boolean]>([
  ["that sees the only tenant of the partner", ["a"], ["a"], true],
  ["that sees all tenants of the partner", ["a", "b"], ["c", "b", "a"], true],
  ["that sees every tenant", ["a", "b"], [all], true],
  ["that sees one of two tenants", ["a", "b"], ["a"], false],
  ["that sees one tenant of a partner of every tenant", [all], ["a"], false],
  ["that sees every tenant of a partner of every tenant", [all], [all], true],
])("a token %s", async (_sentence, subscribed, tenants, isShown) => {
  const subscriptions = subscribed.map((tenant) => ({ name: tenant, types: ["**"], tenants: [tenant], producers: [] }));
  const partner = compiled("one", { subscriptions });
  const list = createPartnerList({
    partners: () => [partner],
    disabled: { list: async () => [] },
    notApplied: () => new Map(),
  });
  const details = createPartnerDetails(list, { of: async () => liveViewOf(live, true, 5_000) });
  const { live: shown } = await details.read(partner.label, { tenants });
  expect(shown.hidden).toBe(!isShown);
  const { known, breaker, backlog, in_flight: inFlight, as_of: asOf, oldest_due_at: oldest } = shown;
  const figures = { known, breaker, backlog, inFlight, isDated: asOf !== null || oldest !== null };
  expect(figures).toEqual(
    isShown
      ? { known: true, breaker: "open", backlog: 7, inFlight: 2, isDated: true }
      : { known: false, breaker: null, backlog: null, inFlight: null, isDated: false },
  );
});
