import type { ConfigReport } from "../../../runtime/http/server/configz.ts";

/** The report of a program that applies nothing yet. */
export const emptyReport: ConfigReport = {
  version: "0",
  pod: "pod-a",
  ready: false,
  hash: null,
  content_hash: null,
  shards: {},
  errors: [],
  marks: [],
  applied_at: null,
  partners: 0,
  catalogs: 0,
  quotas: 0,
  event_catalogs: 0,
  problems: 0,
  warnings: [],
};
