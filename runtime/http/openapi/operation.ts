// Operations of the API as data: their names, parameters and headers. The bodies are in `api/`, the routes next to it.
import { pageItemsDefault, pageItemsMax } from "../../../api/events.ts";
import { textLengthMax } from "../../../api/queries.ts";
import { durationPattern } from "../../../api/documents.ts";
import { text } from "../../../api/schema.ts";
import type { JsonSchema, SchemaName } from "../../../api/schemas.ts";

/** One parameter of a path or a query string. */
export interface OperationParameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly description: string;
  readonly schema: JsonSchema;
  /** @default false for a query's, true for a path's */
  readonly required?: boolean;
  /** True for a list that is one value with commas. @default false: the parameter is repeated */
  readonly isJoined?: boolean;
  readonly example?: unknown;
}

/** One successful response. */
export interface OperationResponse {
  readonly description: string;
  /** Name of the schema of its JSON. */
  readonly schema: SchemaName;
  /** Media types besides JSON, whose content is text. @default none */
  readonly alsoAs?: readonly string[];
  /** Response headers by name. */
  readonly headers?: Readonly<Record<string, OperationHeader>>;
}

/** One response header. */
export interface OperationHeader {
  readonly description: string;
  readonly schema: JsonSchema;
  /** @default true */
  readonly required?: boolean;
}

/** A route's own entry in the OpenAPI document. Errors and scopes follow from the route. */
export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly parameters?: readonly OperationParameter[];
  /** Name of the schema of the request body. */
  readonly bodySchema?: SchemaName;
  readonly bodyExample?: object;
  /** Names of the schemas of bodies in other types of JSON, by their media types. */
  readonly otherBodies?: Readonly<Record<string, SchemaName>>;
  /** @default false: a request with a body needs one */
  readonly isBodyOptional?: boolean;
  /** By status. */
  readonly responses: Readonly<Record<string, OperationResponse>>;
}

/** The groups of operations, by the start of their paths. The first that fits counts. */
const tagsByPath = [
  ["/v1/metrics", "metrics"],
  ["/v1/status", "metrics"],
  ["/prometheus", "prometheus"],
  ["/v1/preview", "preview"],
  ["/v1/me", "access"],
  ["/v1/", "schemas"],
  ["/", "webhooks"],
] as const;
export type Tag = (typeof tagsByPath)[number][1];

/** The group of an operation. */
export function tagOf(path: string): Tag {
  return tagsByPath.find(([start]) => path.startsWith(start))?.[1] ?? "webhooks";
}

/** A parameter of the query string. */
export function parameter(
  name: string,
  description: string,
  schema: JsonSchema,
  more: Partial<OperationParameter> = {},
): OperationParameter {
  return { name, in: "query", description, schema, ...more };
}

/** A parameter of the query string that is a text. */
export function textParameter(
  name: string,
  description: string,
  keywords: JsonSchema = {},
  more: Partial<OperationParameter> = {},
): OperationParameter {
  return parameter(name, description, text(undefined, { minLength: 1, maxLength: textLengthMax, ...keywords }), more);
}

/** A segment of the path. */
export function pathParameter(name: string, description: string, example?: string): OperationParameter {
  const more = example === undefined ? {} : { example };
  return parameter(name, description, text(undefined, { minLength: 1 }), { in: "path", ...more });
}

const dateTime = String.raw`^(?:19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?`;

/** A time of a query for metrics, absolute or relative. */
export const queryTime = text(
  "ISO 8601 such as `2026-01-31T12:00:00Z`, or with an offset such as `+02:00`; Unix seconds; `now`, or a distance " +
    "to it such as `now-3h` or `now-1h30m`; also rounded in UTC: `now-1d/d` is the start of yesterday, as `to` its end",
  {
    minLength: 1,
    maxLength: 64,
    examples: ["2026-01-31T12:00:00Z", "now-3h", "1769860800"],
    anyOf: [
      { pattern: `${dateTime}(?:[Zz]|[+\\- ]\\d{2}:?\\d{2})$` },
      { pattern: String.raw`^\d{1,12}(?:\.\d{1,9})?$` },
      { pattern: `^now(?:[+\\- ](?:${durationPattern}))?(?:/[smhd])?$` },
    ],
  },
);

/** The greatest number of items of a page. */
export const limit = parameter("limit", "Items per page", {
  type: "integer",
  minimum: 1,
  maximum: pageItemsMax,
  default: pageItemsDefault,
});

/** The place at which a page begins. @param pattern form of the cursors of a list */
export function cursor(pattern: string): OperationParameter {
  return textParameter("cursor", "`meta.cursor` of the previous page", { pattern });
}

/** The parameters of every list whose cursor is a number. */
export const paging: readonly OperationParameter[] = [cursor("^[0-9]{1,16}$"), limit];

/** The two successful responses of a route whose data can be incomplete. */
export function wholeOrPartial(response: Omit<OperationResponse, "description">): Operation["responses"] {
  return {
    "200": { description: "The complete result", ...response },
    "206": { description: "Data of a store is missing; see `meta`", ...response },
  };
}
