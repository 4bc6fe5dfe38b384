import { schemas, withRefs } from "../../api/schemas.ts";
import {
  tagOf,
  type Operation,
  type OperationResponse,
  type OperationHeader,
  type Tag,
} from "../../runtime/http/openapi/operation.ts";
import type { JsonSchema } from "../../api/schemas.ts";
import type { Route } from "../../runtime/http/server/route.ts";
import { productRoutes } from "./product-routes.ts";
import type { GeneratedFile } from "../tools/resource-types.ts";
import { anchorOf, cell, descriptionOf, memberRows, typeText } from "./schema-text.ts";

type DocumentedRoute = Route & { readonly operation: Operation };

const intro = `# API reference

For authors of clients. You look up each operation, its parameters, headers, statuses and schemas.

\`npm run generate\` writes this page from the tables that \`GET /v1/openapi.json\` is made of. Each running
installation serves that document, and each schema alone at \`/v1/schemas/{name}\`, without a token.

Requests carry \`Authorization: Bearer TOKEN\`, or \`DPoP TOKEN\` with a proof
([tokens](../how-to/tokens.md)). Any scope of an operation is enough. A request that fails gets a
[Problem](#problem) as \`application/problem+json\`, whose \`code\` is listed in [Errors](errors.md). Every response
has \`X-Correlation-Id\`, which the log has too. [Query metrics](../how-to/query-metrics.md) explains the metrics API.
`;

/** The reference of both APIs, as it should be. */
export function apiPage(): GeneratedFile {
  const routes = productRoutes().filter((route): route is DocumentedRoute => route.operation !== undefined);
  const text = [
    intro,
    ...(["access", "metrics", "prometheus", "webhooks", "schemas"] as const).flatMap((tag) => index(tag, routes)),
    ...routes.map(operationText),
    headersText(routes),
    "## Schemas\n",
    "Responses may have more members than these: a later version only adds. Requests may not.\n",
    ...Object.keys(schemas).toSorted().map(schemaText),
  ].join("\n");
  return { path: "docs/reference/api.md", text };
}

const titleOf = ({ method, path }: Route): string => `${method} ${path.replaceAll(/:(\w+)/gu, "{$1}")}`;

function index(tag: Tag, routes: readonly DocumentedRoute[]): readonly string[] {
  const own = routes.filter(({ path }) => tagOf(path) === tag);
  const rows = own.map(
    (route) => `| [${titleOf(route)}](#${anchorOf(titleOf(route))}) | ${cell(route.operation.summary)} |`,
  );
  return [`**${tag}**\n`, "| Operation | What it does |", "| --- | --- |", ...rows, ""];
}

function operationText(route: DocumentedRoute): string {
  const { operation } = route;
  return [
    `## ${titleOf(route)}\n`,
    `${operation.summary}. ${accessOf(route)}\n`,
    ...parametersText(operation),
    ...bodyText(route),
    "| Status | Response |",
    "| --- | --- |",
    ...Object.entries(operation.responses).map(([status, answer]) => `| ${status} | ${cell(answerText(answer))} |`),
    "",
    ...headerNames(operation),
  ].join("\n");
}

function accessOf({ scopes, isOpen, takesAnyToken, allowsAnonymous }: Route): string {
  if (isOpen === true) return "It needs no token.";
  if (takesAnyToken === true) return "It needs a token of any scope.";
  const anonymous = allowsAnonymous === true ? ", or no token" : "";
  return `Scope: ${scopes.map((scope) => `\`${scope}\``).join(" or ")}${anonymous}.`;
}

function parametersText({ parameters = [] }: Operation): readonly string[] {
  if (parameters.length === 0) return [];
  const rows = parameters.map((parameter) => {
    const { name, in: place, schema, required = place === "path", isJoined, description } = parameter;
    const form = schema["type"] === "array" ? (isJoined === true ? "; with commas between" : "; repeated") : "";
    const cells = [`\`${name}\``, place, `${typeText(withRefs(schema))}${form}`, required ? "yes" : "no", description];
    return `| ${cells.map(cell).join(" | ")} |`;
  });
  return ["| Parameter | In | Type | Required | Meaning |", "| --- | --- | --- | --- | --- |", ...rows, ""];
}

function bodyText({
  operation: { bodySchema, bodyExample, otherBodies = {} },
  bodyBytesMax,
  takesForms,
}: DocumentedRoute): readonly string[] {
  if (bodySchema === undefined) return [];
  const bound = bodyBytesMax === undefined ? "" : `, at most ${bodyBytesMax} bytes`;
  const example = bodyExample === undefined ? [] : [`\`\`\`json\n${JSON.stringify(bodyExample, null, 2)}\n\`\`\`\n`];
  const type = takesForms === true ? "application/x-www-form-urlencoded" : "application/json";
  const others = Object.entries(otherBodies).map(([name, schema]) => `, ${typeText({ $ref: schema })} as \`${name}\``);
  return [`Body: ${typeText({ $ref: bodySchema })} as \`${type}\`${others.join("")}${bound}.\n`, ...example];
}

function answerText({ description, schema, alsoAs = [] }: OperationResponse): string {
  const others = alsoAs.length === 0 ? "" : `; also as ${alsoAs.map((type) => `\`${type}\``).join(", ")}`;
  return `${description}: ${typeText({ $ref: schema })}${others}`;
}

function headersOf({ responses }: Operation): Readonly<Record<string, OperationHeader>> {
  return Object.assign({}, ...Object.values(responses).map(({ headers = {} }) => headers)) as ReturnType<
    typeof headersOf
  >;
}

function headerNames(operation: Operation): readonly string[] {
  const names = Object.keys(headersOf(operation)).map((name) => `\`${name}\``);
  return names.length === 0 ? [] : [`[Headers](#headers): ${names.join(", ")}.\n`];
}

function headersText(routes: readonly DocumentedRoute[]): string {
  const headers = Object.assign({}, ...routes.map(({ operation }) => headersOf(operation)).toReversed()) as ReturnType<
    typeof headersOf
  >;
  const rows = Object.entries(headers).map(
    ([name, { description, schema }]) => `| \`${name}\` | ${cell(typeText(schema))} | ${cell(description)} |`,
  );
  return ["## Headers\n", "| Header | Type | Meaning |", "| --- | --- | --- |", ...rows, ""].join("\n");
}

function schemaText(name: string): string {
  const schema: JsonSchema = schemas[name] ?? {};
  const rows = memberRows(schema);
  const said = descriptionOf(schema) === "" ? [] : [`${descriptionOf(schema)}.\n`];
  const table = ["| Member | Type | Required | Meaning |", "| --- | --- | --- | --- |", ...rows, ""];
  return [`### ${name}\n`, ...said, ...(rows.length === 0 ? [`${upper(typeText(schema))}.\n`] : table)].join("\n");
}

const upper = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
