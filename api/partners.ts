import { Time } from "./documents.ts";
import { CursorMeta } from "./events.ts";
import { FailureCause, PartnerFailure, PartnerHealth, PartnerRecent } from "./partner-health.ts";
import {
  closedObject,
  constantTrue,
  count,
  described,
  flag,
  list,
  nullable,
  number,
  object,
  ref,
  text,
  words,
  type Static,
} from "./schema.ts";

/**
 * `held`: nothing is sent until the configuration is resolved. `disabled`: the endpoint responded with 410. `rejected`:
 * its definition is not applied, and there is no earlier version, so no event is routed to it.
 */
export const partnerStates = ["active", "paused", "held", "disabled", "rejected"] as const;
/**
 * `half_open`: the next attempt probes the partner, or a probe is under way. `rate_limited`: a `Retry-After` of the
 * partner has not passed.
 */
export const breakerNames = ["closed", "open", "half_open", "rate_limited"] as const;

const milliseconds = number(undefined, { minimum: 0 });

const partnerKeyMembers = {
  id: text("Id of the key"),
  not_after: nullable(ref(Time), "Expiry of the key; null if it does not expire"),
};

export const ConfigurationPlace = object(
  {
    source: words(
      ["kubernetes", "folder"],
      "Where the definition is edited: WebhookPartner resources, or files in a folder",
    ),
    folder: nullable(
      text(),
      "Folder on the server's machine; null for resources, and for tokens that may not see the path of the endpoint",
    ),
  },
  {
    file: nullable(text(), "Name of the file in the folder that declares the partner; null if `folder` is null"),
    program: text("How the program was started that reads the folder: `heliograph`, or `npx heliograph`"),
  },
);
export type ConfigurationPlace = Static<typeof ConfigurationPlace>;

/** Figures of a partner. Servers of earlier versions have none of them. */
const current = {
  health: ref(PartnerHealth, "How deliveries to the partner are now; if several apply, the last one of the list"),
  recent: ref(PartnerRecent, "Attempts for the tenants of the token, without pings, as in `/webhooks/stats`"),
  backlog: nullable(
    count(),
    "Pending deliveries; null if unknown, or if the partner also receives events of tenants outside the token",
  ),
  last_failure: nullable(
    ref(FailureCause),
    "The failed attempt that began last, as in the partner, which also has its event and response; null if none is " +
      "known",
  ),
  next_key_to_expire: nullable(
    object({ ...partnerKeyMembers, not_after: ref(Time, "Expiry of the key") }),
    "The key that expires next; null if no key will expire",
  ),
};

const summary = {
  partner: text("Partner, as `namespace/name`"),
  state: words(partnerStates, "State of the partner"),
  reason: nullable(text(), "Why deliveries to the partner are held; null if they are not"),
  missing: nullable(
    text(),
    "The missing Secret or other reference of an unresolved partner; null if nothing is missing",
  ),
  rejected: nullable(
    object({
      reason: text("Reason of the condition `Accepted`"),
      message: nullable(text(), "Message of the condition; null without one"),
    }),
    "Why the newest version of the resource is rejected; null if it is accepted",
  ),
  subscriptions: list(
    object({
      name: text("Name of the subscription"),
      types: list(text(), "Patterns of event types"),
      tenants: list(text(), "Tenants whose events match"),
    }),
    "Subscriptions of the partner",
  ),
  keys: list(object(partnerKeyMembers), "Signing keys; the first one signs"),
};

export const PartnerSummary = object(summary, {
  ...current,
  managed_by: ref(ConfigurationPlace, "What contains the definition; only of rejected partners in a list"),
});
export type PartnerSummary = Static<typeof PartnerSummary>;

export const PartnerPage = object({
  data: list(ref(PartnerSummary), "Partners of the page"),
  meta: ref(CursorMeta, "About the page"),
});

export const PartnerLive = object({
  known: flag("False if the owning pod did not respond; the figures are then the last known ones"),
  hidden: flag("True if the partner also receives events of tenants outside the token, so no figures are shown"),
  as_of: nullable(ref(Time), "Time of the figures; null if there are none"),
  age_seconds: nullable(number(undefined, { minimum: 0 }), "Age of the figures in seconds; null if there are none"),
  breaker: nullable(words(breakerNames), "State of the circuit breaker; null if unknown"),
  breaker_until: nullable(ref(Time), "End of the pause; null without one"),
  backlog: nullable(count(), "Pending deliveries; null if unknown"),
  in_flight: nullable(count(), "Deliveries that the owning pod has pulled and not settled; null if unknown"),
  oldest_due_at: nullable(ref(Time), "Time at which the oldest pending delivery was due; null if there is none"),
});
export type PartnerLive = Static<typeof PartnerLive>;

export const PartnerEndpoint = object({
  scheme: words(["https", "http"], "Scheme of the URL"),
  host: text("Host of the URL, with its port if it names one"),
  path: nullable(
    text(),
    "Path of the URL, and the names of its parameters with `***` for their values; null for tokens without the scope " +
      "`admin:debug` or limited to partners",
  ),
});
export type PartnerEndpoint = Static<typeof PartnerEndpoint>;

/** Servers of earlier versions do not report them. */
const place = {
  last_failure: nullable(
    ref(PartnerFailure),
    "The failed attempt that began last, for the tenants of the token, without pings and ends without a request. " +
      "Null if no such attempt is known, which covers at least the last 48 hours",
  ),
  endpoint: ref(PartnerEndpoint, "Where events are sent"),
  managed_by: ref(ConfigurationPlace, "What contains the definition of the partner"),
};

export const PartnerDetail = object(
  {
    ...summary,
    signing: described(
      object(
        { scheme: text("Signing scheme") },
        { side_by_side: constantTrue("Present if all valid keys sign, not only the first one") },
      ),
      "How requests are signed",
    ),
    retry: described(
      object({
        schedule_seconds: list(count(), "Delays before retries in seconds; the last one repeats"),
        max_age_seconds: count("Age of an event in seconds after which its delivery ends"),
        jitter_percent: count("Maximum random extension of each delay in percent"),
      }),
      "When failed attempts are retried",
    ),
    delivery: described(
      object({
        max_in_flight: count("Maximum concurrent attempts"),
        rate_per_second: nullable(number(undefined, { minimum: 0 }), "Maximum attempts per second; null if unlimited"),
        max_backlog: nullable(count(), "Maximum pending deliveries; null if unlimited"),
      }),
      "Limits of deliveries",
    ),
    live: ref(PartnerLive, "Current figures"),
  },
  { ...current, ...place },
);
export type PartnerDetail = Static<typeof PartnerDetail>;

export const PartnerStatsPoint = object({
  at: ref(Time, "Start of the interval"),
  delivered: count("Successful attempts"),
  rejected: count("Attempts that the partner rejected permanently"),
  dead: count("Attempts that exhausted the retries of a delivery"),
  retried: count("Attempts followed by a retry"),
  answers: described(
    object({
      "2xx": count("Status 200 to 299"),
      "3xx": count("Status 300 to 399"),
      "4xx": count("Status 400 to 499"),
      "5xx": count("Status 500 to 599"),
      none: count("No response"),
    }),
    "Attempts by class of HTTP status",
  ),
  p50_ms: nullable(milliseconds, "Median duration of attempts in milliseconds; null if there are none"),
  p95_ms: nullable(milliseconds, "95th percentile of the durations in milliseconds; null if there are none"),
});
export type PartnerStats = Static<typeof PartnerStats>;
export type PartnerStatsPoint = Static<typeof PartnerStatsPoint>;

export const PartnerStats = object({
  data: list(ref(PartnerStatsPoint), "Intervals of the window, oldest first"),
  meta: described(
    object({
      partner: text("Partner, as `namespace/name`"),
      from: ref(Time, "Start of the window"),
      to: ref(Time, "End of the window"),
      step_seconds: count("Length of an interval in seconds"),
      complete: flag("False if attempts in the window may be missing"),
    }),
    "About the window",
  ),
});

export const PublicKeySet = object({
  keys: list(
    object(
      {
        kty: words(["OKP", "EC"], "Key type"),
        crv: text("Curve"),
        x: text("Public key, or its x coordinate, in base64url"),
        kid: text("Id of the key"),
        alg: words(["EdDSA", "ES256", "ES384"], "Signature algorithm"),
        use: words(["sig"], "`sig`: for signatures"),
      },
      { y: text("Its y coordinate in base64url, for `EC`") },
    ),
    "Public keys that verify deliveries, as JSON Web Keys (RFC 7517)",
  ),
});
export type PublicKeySet = Static<typeof PublicKeySet>;

export const PingRequest = closedObject(
  {},
  { tenant: text("Tenant of the test event", { pattern: "^(?:-|[A-Za-z0-9_][A-Za-z0-9_-]{0,63})$" }) },
);

export const Ping = object({
  event_id: text("Id of the test event"),
  tenant: text("Tenant of the test event"),
  partner: text("Partner, as `namespace/name`"),
});
export type Ping = Static<typeof Ping>;
