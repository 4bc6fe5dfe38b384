import { pino } from "pino";
import { afterAll, describe, expect, test } from "vitest";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import type { Route } from "../../../../runtime/http/server/route.ts";
import { productRoutes } from "../../../pages/product-routes.ts";

const everyScope = [
  "metrics:read",
  "metrics:read.public",
  "metrics:explain",
  "metrics:peer",
  "metrics:usage",
  "events:write",
  "webhooks:read",
  "webhooks:replay",
  "webhooks:ack",
  "webhooks:ping",
  "admin:debug",
  "admin:preview",
];

/** What lets a caller in, by route: one of these scopes, or nothing at all. A new route has to be written down here. */
const scopesOf: Readonly<Record<string, readonly string[] | "open" | "any token">> = {
  "GET /v1/me": "any token",
  "POST /events": ["events:write"],
  "GET /webhooks/events/:id": ["webhooks:read"],
  "GET /webhooks/event-ids/:id": ["admin:debug"],
  "GET /webhooks/events": ["webhooks:read"],
  "POST /webhooks/replay": ["webhooks:replay"],
  "GET /webhooks/replay": ["webhooks:replay", "webhooks:read", "webhooks:ack"],
  "GET /webhooks/replay/:id": ["webhooks:replay", "webhooks:read", "webhooks:ack"],
  "DELETE /webhooks/replay/:id": ["webhooks:replay", "webhooks:ack"],
  "POST /webhooks/dead-letters/redrive": ["webhooks:replay"],
  "POST /webhooks/dead-letters/ack": ["webhooks:ack"],
  "GET /webhooks/dead-letters": ["webhooks:read"],
  "GET /webhooks/dead-letters/counts": ["webhooks:read"],
  "POST /webhooks/ack": ["webhooks:ack"],
  "GET /webhooks/types": ["webhooks:read"],
  "GET /webhooks/asyncapi": ["webhooks:read"],
  "GET /webhooks/types/:type": ["webhooks:read"],
  "GET /webhooks/partners": ["webhooks:read"],
  "GET /webhooks/partners/:namespace/:name": ["webhooks:read"],
  "GET /webhooks/partners/:namespace/:name/stats": ["webhooks:read"],
  "GET /webhooks/stats": ["webhooks:read"],
  "POST /webhooks/partners/:namespace/:name/ping": ["webhooks:ping"],
  "GET /webhooks/partners/:namespace/:name/jwks.json": "open",
  "GET /v1/metrics/query": ["metrics:read", "metrics:read.public"],
  "GET /v1/metrics/instant": ["metrics:read", "metrics:read.public"],
  "GET /v1/metrics/plan": ["metrics:read", "metrics:read.public"],
  "GET /v1/metrics/quota": ["metrics:read", "metrics:read.public"],
  "GET /v1/metrics/labels/:label/values": ["metrics:read", "metrics:read.public"],
  "GET /v1/metrics/slo/history": ["metrics:read", "metrics:read.public"],
  "POST /v1/metrics/bulk-query": ["metrics:read", "metrics:read.public"],
  "POST /v1/metrics/partials": ["metrics:peer"],
  "GET /v1/metrics/slo": ["metrics:read", "metrics:read.public"],
  "GET /v1/metrics/catalog": ["metrics:read", "metrics:read.public"],
  "GET /v1/metrics/catalog/checks": ["metrics:read", "metrics:read.public"],
  "GET /v1/metrics/health": ["metrics:read", "metrics:read.public"],
  "GET /v1/metrics/usage": ["metrics:read", "metrics:read.public", "metrics:usage"],
  ...Object.fromEntries(
    ["query", "query_range", "query_exemplars", "format_query", "labels", "series"]
      .flatMap((name) => [`GET /prometheus/api/v1/${name}`, `POST /prometheus/api/v1/${name}`])
      .concat(
        ["label/:name/values", "metadata", "status/buildinfo", "features", "rules", "alerts"].map(
          (name) => `GET /prometheus/api/v1/${name}`,
        ),
      )
      .map((name) => [name, ["metrics:read", "metrics:read.public"]]),
  ),
  "GET /prometheus": "open",
  "GET /prometheus/": "open",
  "POST /v1/preview": ["admin:preview"],
  "GET /v1/preview/:id": ["admin:preview"],
  "GET /console": "open",
  "GET /console/*": "open",
  "GET /console/config.json": "open",
  "GET /status/:tenant": "open",
  "GET /v1/status/:tenant": "open",
  "GET /v1/schemas": "open",
  "GET /v1/schemas/:name": "open",
  "GET /v1/openapi.json": "open",
  "GET /v1/changelog": "open",
};

const routes = productRoutes();
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

const app = createPublicServer({
  log: pino({ level: "silent" }),
  observe: () => undefined,
  now: Date.now,
  authenticate: async (authorization) => {
    if (authorization === undefined) throw new ApiError("token_missing", "Send a token.");
    const scopes = authorization.replace("Bearer ", "").split(",");
    return { client: "c", tenants: ["*"], regions: ["*"], environments: ["*"], metrics: ["*"], roles: [], scopes };
  },
  routes,
});

afterAll(async () => app.close());

async function codeOf({ method, path }: Route, scopes: readonly string[] | undefined): Promise<string> {
  const authorization = scopes === undefined ? {} : { authorization: `Bearer ${scopes.join(",")}` };
  const url = path.replaceAll(/:\w+/gu, "x");
  const response = await app.inject({
    method,
    url,
    headers: { ...authorization, "content-type": "application/json" },
    ...(method === "POST" ? { payload: "{}" } : {}),
  });
  return response.statusCode < 400 ? "reached" : response.json<{ readonly code: string }>().code;
}

const accessCodes = ["token_missing", "scope_missing"];

describe("every route", () => {
  test("is known here with what lets a caller in", () => {
    expect(routes.map(nameOf).sort()).toEqual(Object.keys(scopesOf).sort());
  });

  test.each(routes.map((route) => [nameOf(route), route] as const))(
    "%s refuses callers without one of its scopes",
    async (name, route) => {
      const scopes = scopesOf[name] ?? [];
      if (scopes === "open" || scopes === "any token") return;
      expect(
        await codeOf(
          route,
          everyScope.filter((scope) => !scopes.includes(scope)),
        ),
      ).toBe("scope_missing");
      expect(await codeOf(route, [])).toBe("scope_missing");
      for (const near of scopes.flatMap((scope) => [scope.toUpperCase(), `${scope}.x`, scope.slice(0, -1), "*"]))
        expect(await codeOf(route, [near])).toBe("scope_missing");
    },
  );

  test.each(routes.map((route) => [nameOf(route), route] as const))(
    "%s accepts callers with any one of them",
    async (name, route) => {
      const scopes = scopesOf[name] ?? [];
      for (const scope of typeof scopes === "string" ? ["none"] : scopes)
        expect(accessCodes).not.toContain(await codeOf(route, [scope]));
    },
  );

  test("but the open ones and the public view of objectives requires a token", async () => {
    const codes = await Promise.all(
      routes.map(async (route) => [nameOf(route), await codeOf(route, undefined)] as const),
    );
    const withoutToken = codes.filter(([, code]) => code !== "token_missing").map(([name]) => name);
    const open = Object.keys(scopesOf).filter((name) => scopesOf[name] === "open");
    expect(withoutToken.sort()).toEqual([...open, "GET /v1/metrics/slo"].sort());
  });
});
