// Schemas and operations as data. The OpenAPI document is assembled in `http/routes/`.
import { accessSchemas } from "./access-schemas.ts";
import { commonSchemas } from "./common-schemas.ts";
import { eventSchemas } from "./event-schemas.ts";
import type { SchemaSet } from "./json-schema.ts";
import { metricsSchemas } from "./metrics-schemas.ts";
import { peerSchemas } from "./peer-schemas.ts";
import { priceSchemas } from "./price/price-schemas.ts";
import { previewSchemas } from "./preview-schemas.ts";
import { prometheusSchemas } from "./prometheus-schemas.ts";

/** Every schema of what is served, by name. */
export const schemas: SchemaSet = {
  ...accessSchemas,
  ...commonSchemas,
  ...eventSchemas,
  ...metricsSchemas,
  ...peerSchemas,
  ...previewSchemas,
  ...priceSchemas,
  ...prometheusSchemas,
};
