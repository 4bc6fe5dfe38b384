import { describe, expect, test } from "vitest";
import { defaultSettings } from "../../../../runtime/config/settings/settings-schema.ts";
import { callerOf, withGrant } from "../../../../runtime/http/authentication/token-binding.ts";

const names = defaultSettings.claims;

describe("the caller of a token", () => {
  test("has no tenants and no roles, but every region, environment and metric, when the claims are absent", () => {
    expect(callerOf({ sub: "s" }, names)).toEqual({
      client: "s",
      tenants: [],
      regions: ["*"],
      environments: ["*"],
      metrics: ["*"],
      roles: [],
      scopes: [],
    });
  });

  test("is narrowed to nothing by an empty list", () => {
    expect(callerOf({ sub: "s", regions: [] }, names).regions).toEqual([]);
  });

  test.each([
    ["client_id", { client_id: "c", azp: "a", sub: "s" }, "c"],
    ["azp without client_id", { azp: "a", sub: "s" }, "a"],
    ["sub without both", { sub: "s" }, "s"],
    ["sub when the others are empty", { client_id: "", azp: "", sub: "s" }, "s"],
  ])("is known by %s", (_name, claims, client) => {
    expect(callerOf(claims, names).client).toBe(client);
  });

  test.each([
    ["scope as words", { scope: "a  b" }, ["a", "b"]],
    ["scp as a list", { scp: ["a", "b"] }, ["a", "b"]],
    ["scp as words", { scp: "a b" }, ["a", "b"]],
    ["both", { scope: "a", scp: ["b"] }, ["a", "b"]],
  ])("takes scopes from %s", (_name, claims, scopes) => {
    expect(callerOf({ sub: "s", ...claims }, names).scopes).toEqual(scopes);
  });

  test("names partners only when its claim does, of the name that the settings give it", () => {
    expect(callerOf({ sub: "s" }, names)).not.toHaveProperty("partners");
    expect(callerOf({ sub: "s", partners: [] }, names).partners).toEqual([]);
    expect(callerOf({ sub: "s", partners: ["shop/one", "bank/two"] }, names).partners).toEqual([
      "shop/one",
      "bank/two",
    ]);
    const nested = callerOf(
      { sub: "s", partners: ["*"], ext: { hooks: "shop/one" } },
      { ...names, partners: "/ext/hooks" },
    );
    expect(nested.partners).toEqual(["shop/one"]);
  });

  test.each([
    ["those of the grant alone", {}, ["bank/two"], ["bank/two"]],
    ["those of the token besides", { partners: ["shop/one"] }, ["bank/two"], ["shop/one", "bank/two"]],
    ["those of the token, when the grant names none", { partners: ["shop/one"] }, undefined, ["shop/one"]],
    ["none, when neither names any", {}, undefined, undefined],
  ])("with a grant has as partners %s", (_name, claims, granted, partners) => {
    const grant = { subject: "s", scopes: [], tenants: [], ...(granted === undefined ? {} : { partners: granted }) };
    expect(withGrant(callerOf({ sub: "s", ...claims }, names), grant).partners).toEqual(partners);
  });

  test("takes one name for a list of one", () => {
    expect(callerOf({ sub: "s", tenants: "acme" }, names).tenants).toEqual(["acme"]);
  });

  test("reads grants from the claims that the settings name", () => {
    const caller = callerOf({ sub: "s", brands: ["acme"], tenants: ["other"] }, { ...names, tenants: "brands" });
    expect(caller.tenants).toEqual(["acme"]);
  });

  test("reads client and scopes from the claims that the settings name, and from no others then", () => {
    const claims = {
      sub: "s",
      client_id: "c",
      app: "reports",
      scope: "a",
      scp: ["b"],
      permissions: ["metrics:read", "x y"],
    };
    const caller = callerOf(claims, { ...names, client: "app", scopes: "permissions" });
    expect(caller).toMatchObject({ client: "reports", scopes: ["metrics:read", "x", "y"] });
    expect(() => callerOf({ sub: "s", client_id: "c" }, { ...names, client: "app" })).toThrow(/app is missing/u);
  });

  test.each([
    ["a nested claim", { realm_access: { roles: ["auditor"] } }, "/realm_access/roles", ["auditor"]],
    [
      "a claim with slashes and tildes in its name",
      { "https://id/~roles": ["auditor"] },
      "/https:~1~1id~1~0roles",
      ["auditor"],
    ],
    ["a claim whose name is an address", { "https://id/roles": ["auditor"] }, "https://id/roles", ["auditor"]],
    ["nothing where there is none", { realm_access: "x" }, "/realm_access/roles", []],
    ["nothing that is not of the token", {}, "/constructor/name", []],
  ])("reads %s", (_name, claims, roles, expected) => {
    expect(callerOf({ sub: "s", ...claims }, { ...names, roles }).roles).toEqual(expected);
  });

  test.each([
    ["tenants as a number", { tenants: 7 }],
    ["tenants as an object", { tenants: { acme: true } }],
    ["a tenant that is no string", { tenants: ["a", 7] }],
    ["partners that are no list", { partners: { "shop/one": true } }],
    ["tenants as null", { tenants: null }],
    ["far too many tenants", { tenants: Array.from({ length: 1025 }, String) }],
    ["scope as an object", { scope: {} }],
    ["client_id as a number", { client_id: 7 }],
  ])("is refused for %s", (_name, claims) => {
    expect(() => callerOf({ sub: "s", ...claims }, names)).toThrow(expect.objectContaining({ code: "token_invalid" }));
  });

  test("is refused when nothing names the client", () => {
    expect(() => callerOf({ tenants: ["a"] }, names)).toThrow(expect.objectContaining({ code: "token_invalid" }));
  });
});
