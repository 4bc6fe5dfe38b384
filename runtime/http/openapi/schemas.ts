// Schemas and operations as data. The OpenAPI document is assembled in `http/routes/`.
import { accessSchemas } from "./access-schemas.ts";
import { commonSchemas } from "./common-schemas.ts";
import { eventSchemas } from "./event-schemas.ts";
import type { SchemaSet } from "./json-schema.ts";
import { describeMembers, type Meanings } from "./meanings/describe-members.ts";
import { metricMeanings } from "./meanings/metric-meanings.ts";
import { objectiveMeanings } from "./meanings/objective-meanings.ts";
import { otherMeanings } from "./meanings/other-meanings.ts";
import { partnerMeanings } from "./meanings/partner-meanings.ts";
import { webhookMeanings } from "./meanings/webhook-meanings.ts";
import { metricsSchemas } from "./metrics-schemas.ts";
import { peerSchemas } from "./peer-schemas.ts";
import { priceSchemas } from "./price/price-schemas.ts";
import { previewSchemas } from "./preview-schemas.ts";
import { prometheusSchemas } from "./prometheus-schemas.ts";

/** The schemas without {@link meanings}. */
export const undescribed: SchemaSet = {
  ...accessSchemas,
  ...commonSchemas,
  ...eventSchemas,
  ...metricsSchemas,
  ...peerSchemas,
  ...previewSchemas,
  ...priceSchemas,
  ...prometheusSchemas,
};

/** The meanings of all members without a description of their own. */
export const meanings: Meanings = {
  ...metricMeanings,
  ...objectiveMeanings,
  ...otherMeanings,
  ...partnerMeanings,
  ...webhookMeanings,
};

/** Every schema of what is served, by name. */
export const schemas: SchemaSet = describeMembers(undescribed, meanings);
