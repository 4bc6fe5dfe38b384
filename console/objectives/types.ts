import type { RegionState, Time } from "../api/types.ts";

interface BurnRate {
  readonly window: string;
  /** Absent without events. 1 uses the budget up at the end of the window. */
  readonly rate?: number;
}

/** An item of `GET /v1/metrics/slo`. Unknown values are left out. */
export interface Objective {
  readonly name: string;
  readonly title?: string;
  readonly domain: string;
  readonly metric: string;
  /** Share of good events. */
  readonly objective: number;
  readonly window_days: number;
  readonly minimum_events: number;
  readonly at: Time;
  readonly tenant: string;
  readonly regions: readonly RegionState[];
  readonly sli?: number;
  readonly events?: { readonly good: number; readonly total: number };
  /** Shares of all events. */
  readonly error_budget: { readonly total: number; readonly spent?: number; readonly remaining?: number };
  readonly burn: { readonly fast?: BurnRate; readonly slow?: BurnRate };
  readonly tiers: readonly {
    readonly severity: string;
    readonly factor: number;
    readonly long: BurnRate;
    readonly short: BurnRate;
  }[];
  readonly status: "ok" | "increasing" | "critical" | "recovering" | "insufficient_data" | "late" | "failed";
}

/** `GET /v1/metrics/slo`. */
export interface ObjectivesAnswer {
  readonly data: readonly Objective[];
  readonly meta: { readonly partial: boolean };
}

/** `GET /v1/metrics/slo/history`. */
export interface HistoryAnswer {
  readonly data: readonly { readonly at: Time; readonly sli: number | null; readonly remaining: number | null }[];
  readonly meta: {
    readonly name: string;
    readonly window_days: number;
    readonly objective: number;
    readonly step_seconds: number;
    readonly partial: boolean;
  };
}

/** `GET /v1/status/:tenant`, as far as the console reads it. */
export interface PublicStatus {
  readonly data: readonly { readonly name: string; readonly domain: string }[];
}
