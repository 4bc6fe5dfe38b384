import { Time } from "./documents.ts";
import { count, flag, nullable, number, object, ref, text, words, type Static } from "./schema.ts";

const milliseconds = number(undefined, { minimum: 0 });

/** How deliveries to a partner are now. If several apply, the last one is reported. */
export const partnerHealthKinds = [
  "healthy",
  "failing",
  "circuit_open",
  "rate_limited",
  "paused",
  "disabled",
  "held",
  "rejected",
] as const;
export type PartnerHealthKind = (typeof partnerHealthKinds)[number];

export const PartnerHealth = object({
  kind: words(
    partnerHealthKinds,
    "`failing`: at least half of 3 or more attempts in the last 15 minutes failed; with fewer attempts, 3 or more " +
      "failed since the last success, within 24 hours. `held`: also without a valid signing key",
  ),
  reason: nullable(text(), "Why, in a few words; null if healthy or if the configuration pauses the partner"),
  since: nullable(ref(Time), "Since when; to 5 minutes if failing. Null if healthy or unknown"),
  until: nullable(ref(Time), "Earliest time at which it ends; null if unknown"),
});
export type PartnerHealth = Static<typeof PartnerHealth>;

export const PartnerRecent = object({
  attempts: count("Attempts of the last 24 hours"),
  success_rate: nullable(
    number(undefined, { minimum: 0, maximum: 1 }),
    "Share of these attempts that succeeded; null without attempts",
  ),
  p95_ms: nullable(milliseconds, "95th percentile of their durations in milliseconds, within 5 %; null without any"),
  last_success_at: nullable(
    ref(Time),
    "Start of the last successful attempt; null if none is known, which covers at least the last 48 hours",
  ),
  complete: flag("False if figures of the last 24 hours may be missing"),
});
export type PartnerRecent = Static<typeof PartnerRecent>;
