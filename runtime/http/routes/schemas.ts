import { ref } from "../../../api/schema.ts";
import { InterfaceVersion } from "../../../api/documents.ts";
import { bundled, schemas, type JsonSchema } from "../../../api/schemas.ts";
import { ApiError, invalidField } from "../../errors/api-error.ts";
import { type Parameters, readOne, rejectUnknown } from "../../metrics/request/parameters.ts";
import { chooseMediaType } from "../representation/representations.ts";
import { changelog, interfaceVersion } from "../openapi/changelog.ts";
import { openApiOf } from "./openapi-document.ts";
import { parameter, pathParameter, type Operation } from "../openapi/operation.ts";
import type { ApiRequest, Route } from "../server/route.ts";

const version = parameter(
  "version",
  "Version that the caller supports; 409 when another is served",
  ref(InterfaceVersion),
);

/** `GET /v1/schemas` */
const schemasOperation: Operation = {
  id: "listSchemas",
  summary: "All schemas of the served interfaces",
  responses: { "200": { description: "By name", schema: "SchemaCatalog" } },
};

/** `GET /v1/schemas/:name` */
const schemaOperation: Operation = {
  id: "readSchema",
  summary: "A schema with all schemas that it refers to",
  parameters: [pathParameter("name", "Name of the schema", "QueryAnswer"), version],
  responses: { "200": { description: "A JSON Schema", schema: "JsonSchemaDocument" } },
};

/** `GET /v1/openapi.json` */
const openApiOperation: Operation = {
  id: "readOpenApi",
  summary: "This document",
  parameters: [version],
  responses: { "200": { description: "OpenAPI 3.1", schema: "OpenApiDocument" } },
};

/** `GET /v1/changelog` */
const changelogOperation: Operation = {
  id: "readChangelog",
  summary: "Changes by version",
  responses: { "200": { description: "Newest version first", schema: "Changelog" } },
};

const openApiPath = "/v1/openapi.json";
const changelogPath = "/v1/changelog";
/** Bodies change only with the version of the program. */
const headers = { "Cache-Control": "public, max-age=300", Vary: "Accept" };

/**
 * `/v1/schemas`, `/v1/openapi.json` and `/v1/changelog`: the interfaces in machine-readable form. They need no token,
 * since they hold no data of a tenant. Source: seed "Operational Metrics API" §4.6 and §9.
 * @param described the other routes of the same server
 */
export function schemaRoutes(described: readonly Route[]): readonly Route[] {
  const own = [
    open("/v1/schemas", schemasOperation, () => catalogOf()),
    open("/v1/schemas/:name", schemaOperation, ({ path }) => schemaNamed(path["name"] ?? "")),
    open(openApiPath, openApiOperation, () => document),
    open(changelogPath, changelogOperation, () => ({ versions: changelog })),
  ];
  const document: JsonSchema = openApiOf([...described, ...own]);
  return own;
}

function open(path: string, operation: Operation, body: (request: ApiRequest) => object): Route {
  const takes = (operation.parameters ?? []).map(({ name }) => name);
  return {
    method: "GET",
    path,
    scopes: [],
    isOpen: true,
    operation,
    handle: async (request) => {
      chooseMediaType(request.accept, ["application/json"]);
      rejectUnknown(request.query, (name) => takes.includes(name));
      requireVersion(request.query);
      return { status: 200, headers, body: body(request) };
    },
  };
}

/** @throws ApiError `schema_version_gone` for another version than the one served */
function requireVersion(query: Parameters): void {
  const pinned = readOne(query, "version");
  if (pinned === undefined || pinned === interfaceVersion) return;
  throw invalidField("schema_version_gone", "version", `only version ${interfaceVersion} is served`);
}

function catalogOf(): object {
  const named = Object.keys(schemas)
    .sort()
    .map((name) => [name, `/v1/schemas/${name}`] as const);
  const documents = [
    ["openapi", openApiPath],
    ["changelog", changelogPath],
  ] as const;
  return { schemas: [...documents, ...named].map(([name, href]) => ({ name, version: interfaceVersion, href })) };
}

function schemaNamed(name: string): JsonSchema {
  if (!Object.hasOwn(schemas, name))
    throw new ApiError("not_found", "No schema has this name; see /v1/schemas for all schemas.");
  return bundled(name);
}
