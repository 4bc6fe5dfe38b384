// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

import schemas from "./schemas.json" with { type: "json" };

/** Kinds of resources. */
export const kinds = ["EventCatalog", "MetricCatalog", "QueryClassQuota", "WebhookPartner"] as const;

/** What Ajv reads of the schema of each kind's `spec`. An object has only the properties that are listed. */
export const specSchemas: Readonly<Record<(typeof kinds)[number], object>> = schemas;
