import { pino } from "pino";
import { afterAll, describe, expect, test } from "vitest";
import { parseSettings } from "../../../../runtime/config/settings/parse-settings.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import type { Route } from "../../../../runtime/http/server/route.ts";
import { webhookRoutes } from "../../../../runtime/http/routes/webhooks.ts";

/** Nothing is behind the routes: whoever is let through is told so. */
const behind = new Proxy(
  {},
  {
    get: () => () => {
      throw new ApiError("not_found", "There is nothing behind the routes.");
    },
  },
);
const service = behind as Parameters<typeof webhookRoutes>[0];
const { partnersClaim } = parseSettings("partnersClaim: Required");
const routes = webhookRoutes(service, partnersClaim);

const scopes = [...new Set(routes.flatMap((route) => route.scopes))];
const app = createPublicServer({
  log: pino({ level: "silent" }),
  observe: () => undefined,
  now: Date.now,
  authenticate: async (authorization) => {
    const partners = authorization?.replace("Bearer ", "");
    const claim = partners === "none" || partners === undefined ? {} : { partners: partners.split(",") };
    return {
      client: "c",
      tenants: ["*"],
      regions: ["*"],
      environments: ["*"],
      metrics: ["*"],
      roles: [],
      scopes,
      ...claim,
    };
  },
  routes,
});
afterAll(async () => app.close());

async function codeOf({ method, path }: Route, partners: string): Promise<string> {
  const headers = { authorization: `Bearer ${partners}`, "content-type": "application/json" };
  const response = await app.inject({
    method,
    url: path.replaceAll(/:\w+/gu, "x"),
    headers,
    ...(method === "POST" ? { payload: "{}" } : {}),
  });
  return response.json<{ readonly code: string }>().code;
}

const closed = routes
  .filter(({ isOpen }) => isOpen !== true)
  .map((route) => [`${route.method} ${route.path}`, route] as const);

describe("where the settings require the partners claim", () => {
  test.each(closed)("%s refuses a token without it", async (_name, route) => {
    expect(await codeOf(route, "none")).toBe("partners_required");
  });

  test.each(closed)("%s accepts a token that names partners, or every one", async (_name, route) => {
    expect(await codeOf(route, "shop/one")).not.toBe("partners_required");
    expect(await codeOf(route, "*")).not.toBe("partners_required");
  });

  test("public keys stay open", () => {
    expect(routes.filter(({ isOpen }) => isOpen === true).map(({ path }) => path)).toEqual([
      "/webhooks/partners/:namespace/:name/jwks.json",
    ]);
  });
});

test("without that setting every token is accepted", () => {
  expect(parseSettings("name: x").partnersClaim).toBe("Optional");
});

test("a grant that names no partner is refused where it stands", () => {
  const grant = (partner: string): string =>
    "issuers: [{issuer: i, audiences: [a], jwksFile: k, grants: [{subject: s, scopes: [], tenants: [], partners: " +
    `[${partner}]}]}]`;
  expect(parseSettings(grant("shop/one")).issuers[0]?.grants?.[0]?.partners).toEqual(["shop/one"]);
  expect(() => parseSettings(grant("one"))).toThrow(/issuers\[0\]\.grants\[0\]\.partners\[0\]/u);
});
