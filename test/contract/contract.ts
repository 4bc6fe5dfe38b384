import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { openApiOf } from "../../runtime/http/routes/openapi-document.ts";
import { productRoutes } from "../pages/product-routes.ts";
import { closed } from "../runtime/http/openapi/strict-schema.ts";
import type { Exchange } from "./exchange.ts";

type Json = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly schema: Json;
  readonly explode?: boolean;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}

interface ResponseObject extends Content {
  readonly $ref?: string;
}

interface OperationObject {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

const documentId = "https://heliograph.dev/openapi.json";
const document = openApiOf(productRoutes());
const paths = document["paths"] as Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
const components = document["components"] as { readonly responses: Readonly<Record<string, Content>> };
const options = { strict: false, validateFormats: false, allErrors: true } as const;
const ofBodies = new Ajv2020(options);
const ofParameters = new Ajv2020({ ...options, coerceTypes: "array" });
const ofResponses = new Ajv2020(options);
for (const checker of [ofBodies, ofParameters]) checker.addSchema(document, documentId);
// Responses may have more members, but those of this version are all described.
ofResponses.addSchema(closed(document), documentId);
const validators = new Map(
  [ofBodies, ofParameters, ofResponses].map((checker) => [checker, new Map<Json, ValidateFunction>()]),
);

/** What of an exchange the served OpenAPI document does not allow; nothing for a route that it does not describe. */
export function faultsOf(exchange: Exchange): readonly string[] {
  const { method, route, status } = exchange;
  const operation = paths[route.replaceAll(/:(\w+)/gu, "{$1}")]?.[method.toLowerCase()];
  if (operation === undefined) return [];
  const request =
    status < 400 && !hasRejection(exchange)
      ? [...queryFaults(operation, exchange), ...bodyFaults(operation, exchange)]
      : [];
  return [...request, ...responseFaults(operation, exchange)].map((fault) => `${method} ${route} ${status}: ${fault}`);
}

function queryFaults({ parameters }: OperationObject, { route, target }: Exchange): readonly string[] {
  const [, query = ""] = target.split("?");
  const given = Map.groupBy(new URLSearchParams(query), ([name]) => name);
  return [...given].flatMap(([name, pairs]) => {
    const parameter = parameters.find((one) => one.in === "query" && one.name === name);
    // Prometheus ignores parameters that it does not know, and so does the API in its form.
    if (parameter === undefined) return isLikePrometheus(route) ? [] : [`query parameter ${name} is not described`];
    const values = pairs.flatMap(([, value]) => (parameter.explode === false ? value.split(",") : [value]));
    const value = parameter.schema["type"] === "array" ? values : values[0];
    // Prometheus reads an empty parameter as none, which its Go client sends.
    if (value === "" && isLikePrometheus(route)) return [];
    return problemsOf(ofParameters, parameter.schema, { [name]: value }, name);
  });
}

const isLikePrometheus = (route: string): boolean => route.startsWith("/prometheus/");

/** True if the response says that the request, or a part of it, is rejected: it may then be anything. */
function hasRejection({ mediaType, ...response }: Exchange): boolean {
  if (mediaType !== "application/json" || response.responseBody === undefined) return false;
  const { refusal, results } = responseJson(response) as {
    readonly refusal?: unknown;
    readonly results?: readonly { readonly error?: unknown }[];
  };
  return (refusal ?? null) !== null || (Array.isArray(results) && results.some(({ error }) => error !== undefined));
}

function bodyFaults(
  { requestBody }: OperationObject,
  { requestBody: bytes, requestType = "application/json" }: Exchange,
): readonly string[] {
  const schema = requestBody?.content?.[requestType]?.schema;
  const isJson = /[/+]json$/u.test(requestType);
  if (schema === undefined || !isJson || bytes === undefined || bytes.length === 0) return [];
  return problemsOf(ofBodies, schema, { request: JSON.parse(Buffer.from(bytes).toString()) as unknown }, "request");
}

/** Compares bodies in JSON alone. CSV and NDJSON are out of scope: they hold the same members in another form. */
function responseFaults({ responses }: OperationObject, exchange: Exchange): readonly string[] {
  const { status, mediaType, responseBody } = exchange;
  if (status === 304) return [];
  const described = responses[String(status)] ?? (status >= 400 ? responses["default"] : undefined);
  if (described === undefined) return ["the status is not described"];
  const schema = contentOf(described)[mediaType]?.schema;
  if (schema === undefined) return [`the media type ${mediaType} is not described`];
  if (!/[/+]json$/u.test(mediaType) || responseBody === undefined) return [];
  return problemsOf(ofResponses, schema, { response: responseJson(exchange) }, "response");
}

const decoders: Readonly<Record<string, (body: Uint8Array) => Uint8Array>> = {
  gzip: gunzipSync,
  zstd: zstdDecompressSync,
};

function responseJson({ coding, responseBody = "" }: Pick<Exchange, "coding" | "responseBody">): unknown {
  const body = Buffer.from(responseBody);
  const decode = coding === undefined ? undefined : decoders[coding];
  if (coding !== undefined && decode === undefined) throw new Error(`the contract test cannot decode ${coding}`);
  return JSON.parse(Buffer.from(decode?.(body) ?? body).toString());
}

function contentOf({ $ref, content = {} }: ResponseObject): NonNullable<Content["content"]> {
  return $ref === undefined ? content : (components.responses[nameOf($ref)]?.content ?? {});
}

const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1);

/** @param holder has the value as its only member, so that its type may be coerced */
function problemsOf(checker: Ajv2020, schema: Json, holder: Json, name: string): readonly string[] {
  const known = validators.get(checker);
  const validate = known?.get(schema) ?? checker.compile(inHolder(schema, name));
  known?.set(schema, validate);
  validate(holder);
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

function inHolder(schema: Json, name: string): Json {
  const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', `"${documentId}#/components`)) as Json;
  return { type: "object", properties: { [name]: absolute } };
}
