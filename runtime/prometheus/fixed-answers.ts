import { version } from "../version.ts";
import { features } from "./features.ts";
import type { FixedName, PrometheusAnswer } from "./prometheus-api.ts";
import { success } from "./success.ts";

/**
 * The version of Prometheus whose HTTP API these answers have. Clients choose requests by it: Grafana sends `match[]`
 * with label values from 2.24 on. It takes a body without `features` for that of Prometheus itself.
 */
const apiVersion = "3.5.0";

const buildInfo: PrometheusAnswer = success({
  version: apiVersion,
  revision: `heliograph-${version}`,
  branch: "",
  buildUser: "",
  buildDate: "",
  goVersion: "",
});

/** Neither rules nor alerts are evaluated here. */
export const fixedAnswers: Readonly<Record<FixedName, PrometheusAnswer>> = {
  "status/buildinfo": buildInfo,
  features,
  rules: success({ groups: [] }),
  alerts: success({ alerts: [] }),
};
