import { createHash } from "node:crypto";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interfaceVersion } from "../../../../runtime/http/openapi/changelog.ts";
import { schemas } from "../../../../api/schemas.ts";
import { simulated, startMetricsServer, type MetricsServer } from "./metrics-server.ts";

/**
 * Digest of every schema at each version. Whoever changes a schema adds an entry to the changelog, with a new version,
 * and a line here.
 */
const digests: Readonly<Record<string, string>> = {
  "2026-11-21": "b2707c73d6bea1e8",
  "2026-11-22": "c4a06d84b2b61f60",
  "2026-11-26": "d7b06a98e88da1d1",
  "2026-11-27": "2823180cb23b430b",
};

let server: MetricsServer;
beforeAll(async () => {
  server = await startMetricsServer({ eu: simulated(() => ({ services: ["a"] })) });
});
afterAll(async () => server.close());

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly responses: Readonly<Record<string, unknown>>; readonly operationId: string }>>
    >
  >;
}
const readDocument = async (): Promise<Document> => (await server.get("/v1/openapi.json", {})).json() as Document;

describe("the catalog of schemas (Operational Metrics API §4.6)", () => {
  test("lists every schema, the OpenAPI document and the changelog, without a token", async () => {
    const answer = await server.get("/v1/schemas", {});
    const { schemas: listed } = answer.json() as {
      readonly schemas: readonly { readonly name: string; readonly version: string; readonly href: string }[];
    };
    expect(listed.map(({ name }) => name)).toEqual(["openapi", "changelog", ...Object.keys(schemas).sort()]);
    for (const { href, version } of listed) {
      expect(version).toBe(interfaceVersion);
      expect((await server.get(href, {})).status).toBe(200);
    }
    expect(answer.headers["cache-control"]).toBe("public, max-age=300");
  });

  test.each(Object.keys(schemas))("%s is a schema by itself", async (name) => {
    const schema = (await server.get(`/v1/schemas/${name}`, {})).json() as object;
    expect(() => new Ajv2020({ strict: false, validateFormats: false }).compile(schema)).not.toThrow();
  });

  test("has no schema of another name", async () => {
    expect((await server.get("/v1/schemas/toString", {})).status).toBe(404);
  });

  test("refuses a version that is gone with 409 (Operational Metrics API §7 and §9)", async () => {
    expect((await server.get(`/v1/schemas/QueryAnswer?version=${interfaceVersion}`, {})).status).toBe(200);
    const gone = await server.get("/v1/schemas/QueryAnswer?version=2020-01-01", {});
    expect([gone.status, (gone.json() as { readonly code: string }).code]).toEqual([409, "schema_version_gone"]);
  });

  test("changes only with the changelog (Webhook Event Delivery §9.3)", () => {
    const digest = createHash("sha256")
      .update(JSON.stringify(sorted(schemas)))
      .digest("hex")
      .slice(0, 16);
    expect({ [interfaceVersion]: digest }).toEqual({ [interfaceVersion]: digests[interfaceVersion] });
  });
});

/** The same value with the members of its objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}

interface Member {
  readonly description?: string;
  readonly items?: Member;
  readonly anyOf?: readonly Member[];
}

interface MemberOf {
  readonly path: string;
  readonly description: string;
  readonly member: Member;
}

/** Every member of the objects in a schema, with its path and its own description. */
function membersOf(value: unknown, path: string): readonly MemberOf[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => membersOf(item, path));
  return Object.entries(value).flatMap(([keyword, inner]: readonly [string, unknown]) =>
    keyword === "properties"
      ? Object.entries(inner as Readonly<Record<string, Member>>).flatMap(([name, member]) => [
          { path: `${path}.${name}`, description: member.description ?? "", member },
          ...membersOf(member, `${path}.${name}`),
        ])
      : membersOf(inner, path),
  );
}

const members = Object.entries(schemas).flatMap(([name, schema]) => membersOf(schema, name));

describe("the meaning of a member", () => {
  test("is in the served document, for every member", async () => {
    const { components } = (await readDocument()) as unknown as { readonly components: { readonly schemas: object } };
    const served = Object.entries(components.schemas).flatMap(([name, schema]) => membersOf(schema, name));
    expect(served.filter(({ description }) => description.trim() === "").map(({ path }) => path)).toEqual([]);
    expect(served.length).toBeGreaterThan(700);
  });

  test("is a phrase without a full stop, of at most 240 characters", () => {
    const wrong = members.filter(({ description: text }) => !/^[A-Z0-9`].*[^.]$/su.test(text) || text.length > 240);
    expect(wrong.map(({ path }) => path)).toEqual(["AttemptSignature.canonical", "RegionReason.code"]);
  });

  test("is written once: not also in the items or the alternatives of the member", () => {
    const repeated = members.filter(({ member: { description, items, anyOf = [] } }) =>
      [items, ...anyOf].some((inner) => inner?.description === description),
    );
    expect(repeated.map(({ path }) => path)).toEqual([]);
  });
});

describe("the OpenAPI document", () => {
  test("has every path of the server", async () => {
    const { openapi, paths } = await readDocument();
    expect(openapi).toMatch(/^3\.1\./u);
    const expected = [
      "/events",
      "/webhooks/events/{id}",
      "/v1/metrics/query",
      "/v1/metrics/instant",
      "/v1/metrics/bulk-query",
      "/v1/metrics/partials",
      "/v1/metrics/slo",
      "/v1/metrics/catalog",
      "/v1/metrics/health",
      "/v1/schemas",
      "/v1/schemas/{name}",
      "/v1/openapi.json",
      "/v1/changelog",
    ];
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(expected));
  });

  test("refers to nothing that it does not hold", async () => {
    const document = await readDocument();
    const targets = new Set(
      [...JSON.stringify(document).matchAll(/"\$ref":"(#[^"]*)"/gu)].map(([, target = ""]) => target),
    );
    const find = (target: string): unknown =>
      target
        .slice(2)
        .split("/")
        .reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | undefined)?.[key], document);
    expect([...targets].filter((target) => find(target) === undefined)).toEqual([]);
    expect(targets.size).toBeGreaterThan(10);
  });

  test("names every operation once and its errors always", async () => {
    const operations = Object.values((await readDocument()).paths).flatMap((item) => Object.values(item));
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    for (const { responses } of operations) expect(responses).toHaveProperty("default");
  });
});
