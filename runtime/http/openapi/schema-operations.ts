import { ref } from "./json-schema.ts";
import type { Operation, OperationParameter } from "./operation.ts";

const version: OperationParameter = {
  name: "version",
  in: "query",
  description: "Version that the caller supports; 409 when another is served",
  schema: ref("InterfaceVersion"),
};

/** `GET /v1/schemas` */
export const schemasOperation: Operation = {
  id: "listSchemas",
  tag: "schemas",
  summary: "All schemas of the served interfaces",
  answers: { "200": { description: "By name", schema: "SchemaCatalog" } },
};

/** `GET /v1/schemas/:name` */
export const schemaOperation: Operation = {
  id: "readSchema",
  tag: "schemas",
  summary: "One schema with all schemas that it refers to",
  parameters: [
    {
      name: "name",
      in: "path",
      description: "Name of the schema",
      schema: { type: "string", minLength: 1 },
      example: "QueryAnswer",
    },
    version,
  ],
  answers: { "200": { description: "A JSON Schema", schema: "JsonSchemaDocument" } },
};

/** `GET /v1/openapi.json` */
export const openApiOperation: Operation = {
  id: "readOpenApi",
  tag: "schemas",
  summary: "This document",
  parameters: [version],
  answers: { "200": { description: "OpenAPI 3.1", schema: "OpenApiDocument" } },
};

/** `GET /v1/changelog` */
export const changelogOperation: Operation = {
  id: "readChangelog",
  tag: "schemas",
  summary: "Changes by version",
  answers: { "200": { description: "The newest version first", schema: "Changelog" } },
};
