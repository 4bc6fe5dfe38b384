import type { Changelog } from "../../../api/documents.ts";
import type { Static } from "../../../api/schema.ts";
import versions from "./changelog.json" with { type: "json" };

/**
 * The machine-readable changelog, the newest day first. A test holds that the schemas do not change without an entry.
 * Source: seed "Webhook Event Delivery" §9.3, seed "Operational Metrics API" §9.
 */
export const changelog = versions as Static<typeof Changelog>["versions"];

/** The day of the newest entry, which is the version of every schema. */
export const interfaceVersion = changelog[0]?.version ?? "";
