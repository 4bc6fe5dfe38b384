import type { SloConfig } from "../../../../crds/config.ts";

/** An objective over rolling windows, which tests change. */
export const loginSlo: SloConfig = {
  name: "login",
  domain: "auth",
  metric: "auth_success_rate",
  objective: 0.99,
  counts: "Good",
  windowDays: 30,
  minimumEvents: 100,
  burnRates: [14.4, 6, 3, 1],
  public: false,
};
