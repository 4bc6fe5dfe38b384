import { describe, expect, test } from "vitest";
import { createPartnerList } from "../../../../runtime/webhooks/history/partner-list.ts";
import { liveStateOf, liveViewOf } from "../../../../runtime/webhooks/live/live-state.ts";
import { createPartnerDetails, partnerEndpoint } from "../../../../runtime/webhooks/live/partner-details.ts";
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
  const overview = { withFigures: async <Summary>(summaries: readonly Summary[]) => summaries };
  const details = createPartnerDetails({
    list,
    live: { of: async () => liveViewOf(live, true, 5_000) },
    overview,
    lastFailure: async () => null,
  });
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

describe("the place of a partner", () => {
  const partner = compiled("one", {});
  const list = createPartnerList({
    partners: () => [partner],
    disabled: { list: async () => [] },
    notApplied: () => new Map(),
  });
  const overview = { withFigures: async <Summary>(summaries: readonly Summary[]) => summaries };
  const folder = { path: "/etc/heliograph", program: "npx heliograph", fileOf: () => "one.yaml" };
  const read = async (configFolder: typeof folder | undefined, showsInternals: boolean) =>
    createPartnerDetails({
      list,
      live: { of: async () => liveViewOf(live, true, 5_000) },
      overview,
      lastFailure: async () => null,
      configFolder,
    }).read(partner.label, { tenants: [all], showsInternals });

  test("is a cluster, or a folder whose path only administrators see", async () => {
    expect((await read(undefined, true)).managed_by).toEqual({ source: "kubernetes", folder: null });
    const { path, program } = folder;
    const shown = { source: "folder", folder: path, file: "one.yaml", program };
    expect((await read(folder, true)).managed_by).toEqual(shown);
    expect((await read(folder, false)).managed_by).toEqual({ ...shown, folder: null, file: null });
  });

  test("shows the path of its endpoint to administrators", async () => {
    expect((await read(undefined, true)).endpoint?.path).toBe(new URL(partner.config.endpoint.url).pathname);
    expect((await read(undefined, false)).endpoint).toMatchObject({ path: null });
  });
});

test.each([
  ["https://acme.example/hooks/{domain}", "https", "acme.example", "/hooks/{domain}"],
  ["http://acme.example:8443/a?key=s3cret&b=", "http", "acme.example:8443", "/a?key=***&b=***"],
  ["https://acme.example/a?s3cret", "https", "acme.example", "/a?***"],
  ["https://acme.example/a?k=a=b&{domain}=1", "https", "acme.example", "/a?k=***&{domain}=***"],
  ["https://user:pass@acme.example/", "https", "acme.example", "/"],
  ["https://[::1]:9/a", "https", "[::1]:9", "/a"],
])("%s is shown without values of its query", (url, scheme, host, path) => {
  expect(partnerEndpoint(url, true)).toEqual({ scheme, host, path });
  expect(partnerEndpoint(url, false)).toEqual({ scheme, host, path: null });
});
