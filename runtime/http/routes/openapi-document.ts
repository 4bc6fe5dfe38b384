import { schemaDialect, schemas, withRefs, type JsonSchema } from "../../../api/schemas.ts";
import { errorTable } from "../../errors/table.ts";
import { formMediaType } from "../server/query-string.ts";
import { problemMediaType } from "../server/problem.ts";
import type { Route } from "../server/route.ts";
import { interfaceVersion } from "../openapi/changelog.ts";
import { tagOf, type Operation, type OperationResponse, type OperationParameter } from "../openapi/operation.ts";

const tokenDescription = [
  "OAuth 2.0 access token; any of the scopes of an operation is sufficient.",
  "An installation may require tokens that are bound to the client's certificate (RFC 8705);",
  "tokens that are bound to a key are sent as `Authorization: DPoP` with a proof (RFC 9449).",
].join(" ");

type Documented = Pick<
  Route,
  "method" | "path" | "scopes" | "takesAnyToken" | "allowsAnonymous" | "isOpen" | "bodyBytesMax" | "takesForms"
> & {
  readonly operation: Operation;
};

/**
 * The OpenAPI 3.1 document of the routes that have an operation. Source: OpenAPI Specification 3.1.1, seed "Operational
 * Metrics API" §4.6.
 */
export function openApiOf(routes: readonly Route[]): JsonSchema {
  const documented = routes.flatMap(({ operation, ...route }) =>
    operation === undefined ? [] : [{ ...route, operation }],
  );
  const paths = Map.groupBy(documented, ({ path }) => path);
  return {
    openapi: "3.1.1",
    info: {
      title: "Heliograph",
      version: interfaceVersion,
      description:
        "Signed webhooks and a governed metrics read API. Later versions only add to it; incompatible changes " +
        "get a new path.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    jsonSchemaDialect: schemaDialect,
    servers: [{ url: "/" }],
    tags: [
      { name: "access" },
      { name: "metrics" },
      { name: "prometheus" },
      { name: "webhooks" },
      { name: "preview" },
      { name: "schemas" },
    ],
    paths: Object.fromEntries([...paths].map(([path, same]) => [templateOf(path), pathItem(same)])),
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: tokenDescription },
      },
      responses: { Problem: problemResponse, PrometheusError: prometheusErrorResponse },
      headers: commonHeaders,
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [name, withRefs(schema, componentHref)]),
      ),
    },
  };
}

const componentHref = (name: string): string => `#/components/schemas/${name}`;

const commonHeaders = {
  "X-Correlation-Id": {
    description: "Correlation id of this request in the log",
    required: true,
    schema: { type: "string", minLength: 1, maxLength: 128 },
  },
  "Retry-After": {
    description: "Seconds after which the same request may succeed",
    required: false,
    schema: { type: "integer", minimum: 0 },
  },
  "X-Suggested-Step": { description: "A cheaper step", required: false, schema: { type: "string" } },
  "X-Suggested-Downsample": {
    description: "A cheaper downsample",
    required: false,
    schema: { type: "string" },
  },
} as const;
const hintNames = ["Retry-After", "X-Suggested-Step", "X-Suggested-Downsample"] as const;

const headerRef = (name: keyof typeof commonHeaders): readonly [string, JsonSchema] => [
  name,
  { $ref: `#/components/headers/${name}` },
];

const problemResponse: JsonSchema = {
  description: "A problem document with an error code and the invalid fields",
  headers: Object.fromEntries(["X-Correlation-Id" as const, ...hintNames].map(headerRef)),
  content: { [problemMediaType]: { schema: { $ref: componentHref("Problem") } } },
};

const prometheusErrorResponse: JsonSchema = {
  description: "An error in Prometheus' format, with a code of the error table",
  headers: Object.fromEntries([headerRef("X-Correlation-Id"), headerRef("Retry-After")]),
  content: { "application/json": { schema: { $ref: componentHref("PrometheusError") } } },
};

/** `/things/:id` → `/things/{id}` */
function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)/gu, "{$1}");
}

function pathItem(routes: readonly Documented[]): JsonSchema {
  return Object.fromEntries(routes.map((route) => [route.method.toLowerCase(), operationObject(route)]));
}

function operationObject(route: Documented): JsonSchema {
  const { operation } = route;
  const { parameters = [], bodySchema, otherBodies = {}, bodyExample, isBodyOptional = false } = operation;
  const body = bodySchema === undefined ? { type: "object" } : { $ref: componentHref(bodySchema) };
  const example = bodyExample === undefined ? {} : { example: bodyExample };
  const others = Object.entries(otherBodies).map(([name, schema]) => [
    name,
    { schema: { $ref: componentHref(schema) } },
  ]);
  const type = route.takesForms === true ? formMediaType : "application/json";
  const isRequired = type !== formMediaType && !isBodyOptional;
  return {
    operationId: operation.id,
    tags: [tagOf(route.path)],
    summary: operation.summary,
    security: securityOf(route),
    parameters: parameters.map(parameterObject),
    ...(route.bodyBytesMax === undefined
      ? {}
      : {
          requestBody: {
            required: isRequired,
            content: { [type]: { schema: body, ...example }, ...Object.fromEntries(others) },
          },
        }),
    responses: responsesOf(operation, route),
  };
}

function securityOf({ scopes, takesAnyToken, allowsAnonymous, isOpen }: Documented): readonly JsonSchema[] {
  if (isOpen === true) return [];
  if (takesAnyToken === true) return [{ token: [] }];
  const either = scopes.map((scope) => ({ token: [scope] }));
  return allowsAnonymous === true ? [...either, {}] : either;
}

function parameterObject({
  name,
  in: place,
  description,
  schema,
  required,
  isJoined,
  example,
}: OperationParameter): JsonSchema {
  const inner = withRefs(schema, componentHref);
  return {
    name,
    in: place,
    description,
    required: required ?? place === "path",
    schema: inner,
    ...(schema["type"] === "array" ? { style: "form", explode: isJoined !== true } : {}),
    ...(example === undefined ? {} : { example }),
  };
}

function responsesOf({ responses }: Operation, route: Documented): JsonSchema {
  const problem = {
    $ref: `#/components/responses/${tagOf(route.path) === "prometheus" ? "PrometheusError" : "Problem"}`,
  };
  return {
    ...Object.fromEntries(Object.entries(responses).map(([status, response]) => [status, responseObject(response)])),
    ...Object.fromEntries(problemStatuses(route).map((status) => [String(status), problem])),
    default: problem,
  };
}

/** Statuses of the error table that every route of a kind may return; the rest is `default`. */
function problemStatuses({ isOpen, takesAnyToken, bodyBytesMax, scopes, path }: Documented): readonly number[] {
  if (tagOf(path) === "prometheus") return [400, 401, ...(bodyBytesMax === undefined ? [] : [413]), 422, 429, 503];
  const statuses = [
    400,
    406,
    503,
    ...(isOpen === true ? [] : [401]),
    ...(isOpen === true || takesAnyToken === true ? [] : [403]),
    ...(bodyBytesMax === undefined ? [] : [413, 415]),
  ];
  const metrics = scopes.some((scope) => scope.startsWith("metrics:")) ? [409, 410, 429, 502, 504] : [];
  const known = new Set(Object.values(errorTable).map(({ status }) => status));
  return [...statuses, ...metrics].filter((status) => known.has(status)).sort((a, b) => a - b);
}

function responseObject({ description, schema, alsoAs = [], headers = {} }: OperationResponse): JsonSchema {
  const own = Object.entries(headers).map(([name, { description: said, schema: inner, required = true }]) => {
    return [name, { description: said, required, schema: withRefs(inner, componentHref) }] as const;
  });
  const text = alsoAs.map((type) => [type, { schema: { type: "string" } }] as const);
  return {
    description,
    headers: Object.fromEntries([headerRef("X-Correlation-Id"), ...own]),
    content: { "application/json": { schema: { $ref: componentHref(schema) } }, ...Object.fromEntries(text) },
  };
}
