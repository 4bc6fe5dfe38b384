import { Refusal, refuseField } from "../../errors/refusal.ts";
import { refuseUnknown, readOne, type Parameters } from "../../metrics/request/parameters.ts";
import { chooseMediaType } from "../representation/media-type.ts";
import { changelog, interfaceVersion } from "../openapi/changelog.ts";
import { bundled, type JsonSchema } from "../openapi/json-schema.ts";
import { openApiOf } from "./openapi-document.ts";
import type { Operation } from "../openapi/operation.ts";
import {
  changelogOperation,
  openApiOperation,
  schemaOperation,
  schemasOperation,
} from "../openapi/schema-operations.ts";
import { schemas } from "../openapi/schemas.ts";
import type { ApiRequest, Route } from "../server/route.ts";

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
  const document: JsonSchema = openApiOf([...described, ...own], schemas);
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
    answer: async (request) => {
      chooseMediaType(request.accept, ["application/json"]);
      refuseUnknown(request.query, (name) => takes.includes(name));
      requireVersion(request.query);
      return { status: 200, headers, body: body(request) };
    },
  };
}

/** @throws Refusal `schema_version_gone` for another version than the one served */
function requireVersion(query: Parameters): void {
  const pinned = readOne(query, "version");
  if (pinned === undefined || pinned === interfaceVersion) return;
  throw refuseField("schema_version_gone", "version", `only version ${interfaceVersion} is served`);
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
  if (!Object.hasOwn(schemas, name)) throw new Refusal("not_found", "No schema has this name; /v1/schemas lists them.");
  return bundled(name, schemas);
}
