import { version } from "../version.ts";
import type { PrometheusAnswer } from "./prometheus-api.ts";
import { success } from "./success.ts";

/**
 * The version of Prometheus whose HTTP API these answers have. Clients choose requests by it: Grafana sends `match[]`
 * with label values from 2.24 on. It takes a body without `features` for that of Prometheus itself.
 */
const apiVersion = "3.5.0";

/** `status/buildinfo` */
export const buildInfo: PrometheusAnswer = success({
  version: apiVersion,
  revision: `heliograph-${version}`,
  branch: "",
  buildUser: "",
  buildDate: "",
  goVersion: "",
});

/** `rules`: none are evaluated here. */
export const noRules: PrometheusAnswer = success({ groups: [] });

/** `alerts`: none are evaluated here. */
export const noAlerts: PrometheusAnswer = success({ alerts: [] });
