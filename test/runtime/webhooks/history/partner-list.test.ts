import { describe, expect, test } from "vitest";
import type { PartnerConfig } from "../../../../crds/config.ts";
import { createPartnerList } from "../../../../runtime/webhooks/history/partner-list.ts";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import type { DisabledMark } from "../../../../runtime/webhooks/partners/partner-holds.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

const subscription = (...tenants: string[]) => ({ name: tenants.join("-"), types: ["**"], tenants, producers: [] });
const partner = (name: string, changes: Partial<PartnerConfig> = {}): PartnerConfig => ({
  ...partnerConfig(name, "http://127.0.0.1/"),
  ...changes,
});
const configured = compilePartners(
  configOf(
    partner("zeta", { subscriptions: [subscription("*")], state: "Paused" }),
    partner("acme", { subscriptions: [subscription("a", "b"), subscription("c")] }),
    partner("held", { subscriptions: [subscription("a")], state: "Paused", held: "unresolved" }),
    partner("gone", { subscriptions: [subscription("a")] }),
  ),
  [],
);
const gone = configured.find(({ config }) => config.name === "gone")?.config;
const marks = gone === undefined ? [] : [{ ...gone, at: "" } as DisabledMark];
const list = createPartnerList({
  partners: () => configured,
  disabled: { list: async () => marks },
  notApplied: () => new Map(),
});
const all = { tenants: ["*"], skipped: 0, limit: 10 };

const shown = async (query: Parameters<typeof list.page>[0]) => {
  const { items, next } = await list.page(query);
  const rows = items.map(({ partner: label, state, subscriptions }) => [
    label.split("/")[1],
    state,
    subscriptions.map(({ tenants }) => tenants.join(",")).join(";"),
  ]);
  return { rows, next };
};

test("partners are listed by name with their state", async () => {
  expect((await shown(all)).rows).toEqual([
    ["acme", "active", "a,b;c"],
    ["gone", "disabled", "a"],
    ["held", "held", "a"],
    ["zeta", "paused", "*"],
  ]);
});

test("a caller sees the subscriptions to its tenants only, and no partner without one", async () => {
  expect((await shown({ ...all, tenants: ["b"] })).rows).toEqual([
    ["acme", "active", "b"],
    ["zeta", "paused", "*"],
  ]);
});

test("a caller that is narrowed to partners sees no others", async () => {
  const [first] = configured;
  const label = first?.label ?? "";
  expect((await list.page({ ...all, partners: [label] })).items.map((one) => one.partner)).toEqual([label]);
});

test("pages follow each other", async () => {
  const first = await shown({ ...all, limit: 3 });
  expect([first.rows.length, first.next]).toEqual([3, 3]);
  expect(await shown({ ...all, skipped: 3, limit: 3 })).toMatchObject({
    rows: [["zeta", "paused", "*"]],
    next: undefined,
  });
});

test("a store that does not answer is a refusal", async () => {
  const silent = createPartnerList({
    partners: () => [],
    disabled: { list: () => Promise.reject(new Error("no")) },
    notApplied: () => new Map(),
  });
  await expect(silent.page(all)).rejects.toMatchObject({ code: "events_unavailable" });
});

describe("one partner", () => {
  const labels = configured.map(({ label }) => label);
  const labelOf = (name: string): string => labels.find((label) => label.endsWith(`/${name}`)) ?? "";

  test("is found with the subscriptions to tenants of the caller", async () => {
    const { summary } = await list.find(labelOf("acme"), { tenants: ["c"] });
    expect(summary).toMatchObject({ partner: labelOf("acme"), state: "active", subscriptions: [{ tenants: ["c"] }] });
  });

  test.each([
    ["that does not exist", "nobody", { tenants: ["*"] }],
    ["of other tenants", "acme", { tenants: ["z"] }],
    ["that the token does not name", "acme", { tenants: ["*"], partners: ["default/gone"] }],
  ])("%s is not found", async (_, name, caller) => {
    const label = labelOf(name) === "" ? `default/${name}` : labelOf(name);
    const expected = { code: "partner_not_found", message: `The partner ${label} does not exist.` };
    await expect(list.find(label, caller)).rejects.toMatchObject(expected);
  });
});

describe("a definition that is not applied", () => {
  const message = "the signing key belongs to WebhookPartner default/zeta, which is older";
  const of = (name: string, reason: string) => {
    const key = configured.find(({ config }) => config.name === name)?.key ?? name;
    return [key, { uid: name, namespace: "default", name, reason, message }] as const;
  };
  const edited = createPartnerList({
    partners: () => configured,
    disabled: { list: async () => marks },
    notApplied: () => new Map([of("acme", "Invalid"), of("nova", "SharedSigningKey")]),
  });
  const rejected = async (caller: object) => {
    const { items } = await edited.page({ ...all, ...caller });
    return items.flatMap((one) => (one.rejected === null ? [] : [[one.partner, one.state, one.rejected] as const]));
  };
  const acme = configured.find(({ config }) => config.name === "acme")?.label ?? "";

  test("has its reason beside the state of the earlier version", async () => {
    expect((await rejected({})).find(([label]) => label === acme)).toEqual([
      acme,
      "active",
      { reason: "Invalid", message },
    ]);
  });

  test("is listed as rejected without an earlier version", async () => {
    const last = (await rejected({})).find(([label]) => label === "default/nova");
    expect(last).toEqual(["default/nova", "rejected", { reason: "SharedSigningKey", message }]);
    const absent = {
      code: "partner_not_found",
      message: `The partner default/nova is not applied: SharedSigningKey, ${message}`,
    };
    await expect(edited.find("default/nova", all)).rejects.toMatchObject(absent);
  });

  test.each([
    ["that sees some tenants", { tenants: ["a"] }, [[acme, "active", { reason: "Invalid", message: null }]]],
    ["that sees other tenants", { tenants: ["z"] }, []],
    ["that sees some partners", { partners: [acme] }, [[acme, "active", { reason: "Invalid", message: null }]]],
  ])("hides other partners from a caller %s", async (_, caller, expected) => {
    expect(await rejected(caller)).toEqual(expected);
  });

  test("names what a held partner lacks", async () => {
    const lacking = compilePartners(
      configOf(partner("held", { state: "Paused", held: "unresolved", heldBy: "SecretNotFound: default/nosuch" })),
      [],
    );
    const one = createPartnerList({
      partners: () => lacking,
      disabled: { list: async () => [] },
      notApplied: () => new Map(),
    });
    const { items } = await one.page(all);
    expect(items).toMatchObject([{ state: "held", reason: "unresolved", missing: "SecretNotFound: default/nosuch" }]);
  });
});
