import { pino } from "pino";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PartnersClaim } from "../../../../runtime/config/settings/settings.ts";
import { defaultSettings } from "../../../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate } from "../../../../runtime/http/authentication/authenticate.ts";
import { KeySource } from "../../../../runtime/http/authentication/key-source.ts";
import { bundled } from "../../../../api/schemas.ts";
import { type ConfiguredNames, meRoute } from "../../../../runtime/http/routes/me.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import { makeIssuer, signToken, type TestIssuer } from "../../../support/tokens.ts";

const nowMs = Date.UTC(2026, 0, 1);
const exp = nowMs / 1000 + 600;
let issuer: TestIssuer;
const apps: ReturnType<typeof createPublicServer>[] = [];

beforeAll(async () => {
  issuer = await makeIssuer("https://id.example");
});
afterAll(async () => Promise.all(apps.map(async (app) => app.close())));

const names: ConfiguredNames = {
  regions: ["eu", "latam"],
  environments: ["prod"],
  metricTenants: ["lumen"],
  partnerTenants: new Map([
    ["shop/a", ["vega", "lumen"]],
    ["shop/b", ["orion"]],
  ]),
};

function serverWith(partnersClaim: PartnersClaim = "Optional"): (typeof apps)[number] {
  const keys = new KeySource(
    async () => ({ keys: [issuer.publicJwk] }),
    () => nowMs,
  );
  const granted = { subject: "system:serviceaccount:ops:reader", scopes: ["webhooks:read"], tenants: ["acme"] };
  const settings = { issuer: issuer.issuer, audiences: ["heliograph"], algorithms: ["ES256"], grants: [granted] };
  const app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: () => nowMs,
    authenticate: createAuthenticate([{ settings, keys }], defaultSettings.claims, () => nowMs),
    routes: [meRoute({ version: "1.2.3", partnersClaim, names: () => names })],
  });
  apps.push(app);
  return app;
}

async function ask(claims: object, partnersClaim?: PartnersClaim) {
  const token = await signToken(issuer, { iss: issuer.issuer, aud: "heliograph", exp, ...claims });
  return serverWith(partnersClaim).inject({ url: "/v1/me", headers: { authorization: `Bearer ${token}` } });
}

const nothing = {
  client: "c",
  tenants: [],
  partners: null,
  regions: ["*"],
  environments: ["*"],
  metrics: ["*"],
  roles: [],
  scopes: [],
  expires_at: "2026-01-01T00:10:00.000Z",
  is_console_admin: false,
  version: "1.2.3",
  choices: { tenants: [], regions: [], environments: [] },
};
const choices = (tenants: string[], regions: string[] = [], environments: string[] = []): object => ({
  choices: { tenants, regions, environments },
});

describe("GET /v1/me says of a token", () => {
  test.each([
    ["without rights", { sub: "c" }, {}],
    [
      "with two scopes",
      { sub: "c", scope: "metrics:read x" },
      { scopes: ["metrics:read", "x"], ...choices([], ["eu", "latam"], ["prod"]) },
    ],
    [
      "of an administrator of the console",
      { client_id: "ops", sub: "c", scope: "console:admin", tenants: ["*"], roles: ["sre"] },
      { client: "ops", tenants: ["*"], roles: ["sre"], scopes: ["console:admin"], is_console_admin: true },
    ],
    ["with a scope that only begins alike", { sub: "c", scope: "console:admins" }, { scopes: ["console:admins"] }],
    [
      "of one tenant",
      { sub: "c", tenants: "acme", regions: ["eu"], environments: ["prod"], metrics: ["latency"] },
      {
        tenants: ["acme"],
        regions: ["eu"],
        environments: ["prod"],
        metrics: ["latency"],
        ...choices(["acme"], ["eu"], ["prod"]),
      },
    ],
    ["of two partners", { sub: "c", partners: ["shop/a", "shop/b"] }, { partners: ["shop/a", "shop/b"] }],
    ["of every partner, by name", { sub: "c", partners: ["shop/a", "*"] }, { partners: null }],
    ["of no partner", { sub: "c", partners: [] }, { partners: [] }],
    [
      "with rights from the settings",
      { sub: "system:serviceaccount:ops:reader" },
      {
        client: "system:serviceaccount:ops:reader",
        tenants: ["acme"],
        scopes: ["webhooks:read"],
        ...choices(["acme"]),
      },
    ],
    ["that lives for ever", { sub: "c", exp: 1e15 }, { expires_at: null }],
  ])("%s", async (_name, claims, expected) => {
    const answer = await ask(claims);
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ ...nothing, ...expected });
    expect(new Ajv2020({ strict: false, validateFormats: false }).validate(bundled("Me"), answer.json())).toBe(true);
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  test.each([
    ["and metrics", "metrics:read", undefined, ["lumen"], ["eu", "latam"]],
    ["and public metrics", "metrics:read.public", undefined, ["lumen"], ["eu", "latam"]],
    ["and events", "webhooks:read", undefined, ["lumen", "orion", "vega"], []],
    ["and events of one partner", "webhooks:read", ["shop/b"], ["orion"], []],
    ["and events of no partner", "webhooks:read", [], [], []],
    ["and nothing to read", "events:write", undefined, [], []],
  ])("of every tenant %s: the names that it may see anyway", async (_name, scope, partners, tenants, regions) => {
    const claims = { sub: "c", tenants: ["*"], scope, ...(partners === undefined ? {} : { partners }) };
    expect((await ask(claims)).json()).toMatchObject({ choices: { tenants, regions } });
  });

  test("of every tenant of partners that it does not name: none, where the installation asks for the claim", async () => {
    const answer = await ask({ sub: "c", tenants: ["*"], scope: "webhooks:read" }, "Required");
    expect(answer.json()).toMatchObject({ choices: { tenants: [] } });
  });

  test("that names no partners: none, where the installation asks for the claim", async () => {
    expect((await ask({ sub: "c" }, "Required")).json()).toMatchObject({ partners: [] });
    expect((await ask({ sub: "c", partners: ["*"] }, "Required")).json()).toMatchObject({ partners: null });
  });
});

describe("GET /v1/me refuses", () => {
  test.each([
    ["no token", undefined, "token_missing"],
    ["no JWT", "Bearer x", "token_invalid"],
  ])("%s", async (_name, authorization, code) => {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await serverWith().inject({ url: "/v1/me", headers });
    expect([answer.statusCode, answer.json<{ readonly code: string }>().code]).toEqual([401, code]);
  });

  test("an expired token", async () => {
    expect((await ask({ sub: "c", exp: exp - 3600 })).json()).toMatchObject({ code: "token_invalid" });
  });

  test("a parameter that it does not have", async () => {
    const token = await signToken(issuer, { iss: issuer.issuer, aud: "heliograph", exp, sub: "c" });
    const answer = await serverWith().inject({ url: "/v1/me?x=1", headers: { authorization: `Bearer ${token}` } });
    expect([answer.statusCode, answer.json<{ readonly code: string }>().code]).toEqual([400, "unknown_parameter"]);
  });
});
