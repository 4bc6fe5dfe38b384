import { BoundedMap, createSingleFlight, ExpiringMap } from "../../../limits/bounded-map.ts";
import type { FailureOutcome, AttemptOutcome, ResponseOutcome } from "../settlement/outcome.ts";
import { retryAfterOf } from "../settlement/settle.ts";
import type { Partner } from "../partners/partner.ts";
import { withFixedHeaders } from "../signing/signed-request.ts";
import type { Sender } from "../sending/send.ts";
import { sendAuthorized } from "./send-authorized.ts";
import type { Tokens } from "./access-tokens.ts";

/** Result of one validation request. */
type Validation =
  | {
      readonly failure?: undefined;
      /** Permitted deliveries per minute. @default no limit */
      readonly perMinute?: number;
    }
  | { readonly failure: FailureOutcome };

/** Result of the validation of an endpoint. */
export interface EndpointValidation {
  /** Absent when the endpoint consents. */
  readonly failure?: FailureOutcome;
  /** Start of this result, Unix milliseconds by JetStream's clock. */
  readonly sinceMs: number;
}

/** Validations of endpoints, cached for a limited time. Source: CloudEvents web hooks §4. */
export type EndpointValidations = ReturnType<typeof createEndpointValidations>;

interface EndpointValidationDeps {
  readonly sender: Sender;
  readonly tokens: Tokens;
  /** `WebHook-Request-Origin`. */
  readonly origin: string;
  /** Version of this program, for `User-Agent`. */
  readonly version: string;
  /** JetStream's clock, Unix milliseconds. @default Date.now */
  readonly now?: () => number;
  /** Milliseconds of a monotonic clock. @default performance.now */
  readonly monotonicMs?: () => number;
}

interface ValidationResult {
  /** Failures by URL; empty when all validated URLs consent. */
  readonly failures: ReadonlyMap<string, FailureOutcome>;
  readonly sinceMs: number;
}

const cachedMax = 4_096;
/** Largest number of stored failures per partner. */
const failuresMax = 16;
/** Lifetime of a consent, and so the delay until a lowered rate applies. */
const grantedMs = 3_600_000;
/** Lifetime of a rejection. Waiting deliveries are retried by their own schedule. */
const rejectedMs = 30_000;
const secondsPerMinute = 60;
const rateForm = /^\d{1,9}$/u;
const granted: Validation = {};

/**
 * Validates endpoints before the first delivery. Concurrent calls for one URL share one request. A consent lasts an
 * hour at most, a rejection half a minute. Both end when the resource or a secret of the partner changes. Source:
 * CloudEvents "HTTP 1.1 Web Hooks for Event Delivery" 1.0.2 §4 (asynchronous consent by `WebHook-Request-Callback` is
 * not supported).
 */
export function createEndpointValidations(deps: EndpointValidationDeps) {
  const validations = new ExpiringMap<string, Validation>(cachedMax);
  const results = new BoundedMap<string, ValidationResult>(cachedMax);
  const once = createSingleFlight<Validation>();
  const nowMs = deps.monotonicMs ?? (() => performance.now());
  const validate = async (key: string, partner: Partner, url: URL): Promise<Validation> => {
    const validation = validationIn(await ask(deps, partner, url), deps.origin, (deps.now ?? Date.now)());
    results.set(
      partner.fingerprint,
      resultAfter(results.get(partner.fingerprint), url.href, validation, (deps.now ?? Date.now)()),
    );
    validations.set(key, validation, nowMs() + lifeMsOf(validation));
    return validation;
  };
  return {
    /** Result of the validations by this pod. If one of several URLs fails, its failure. */
    resultOf: ({ fingerprint }: Partner) => {
      const one = results.get(fingerprint);
      const [failure] = one?.failures.values() ?? [];
      return one === undefined ? undefined : { sinceMs: one.sinceMs, ...(failure === undefined ? {} : { failure }) };
    },
    /** Validates the endpoint unless a result is cached. An endpoint without verification consents. Never rejects. */
    of: async (partner: Partner, url: URL) => {
      if (partner.config.endpoint.verification === undefined) return granted;
      const key = `${partner.fingerprint} ${url.href}`;
      return validations.use(key, nowMs()) ?? once(key, () => validate(key, partner, url));
    },
  };
}

/** A rejection with a `Retry-After` ends with it. */
function lifeMsOf({ failure }: Validation): number {
  return failure === undefined ? grantedMs : Math.min(rejectedMs, failure.retryAfterMs || rejectedMs);
}

function resultAfter(
  before: ValidationResult | undefined,
  url: string,
  { failure }: Validation,
  nowMs: number,
): ValidationResult {
  const others = [...(before?.failures ?? [])].filter(([other]) => other !== url);
  const all: readonly (readonly [string, FailureOutcome])[] =
    failure === undefined ? others : [[url, failure], ...others];
  const failures = new Map(all.slice(0, failuresMax));
  const isSame = before !== undefined && before.failures.size > 0 === failures.size > 0;
  return { failures, sinceMs: isSame ? before.sinceMs : nowMs };
}

/** Sends the validation request. It requests the rate limit of the partner, if there is one. Source: ibid. §4.1. */
function ask(
  { sender, tokens, origin, version }: EndpointValidationDeps,
  partner: Partner,
  url: URL,
): Promise<AttemptOutcome> {
  const { endpoint, delivery, networks } = partner.config;
  const rate =
    delivery.rate === undefined ? undefined : Math.max(1, Math.floor(delivery.rate.perSecond * secondsPerMinute));
  const headers = withFixedHeaders(endpoint.headers, {
    "WebHook-Request-Origin": origin,
    ...(rate === undefined ? {} : { "WebHook-Request-Rate": String(rate) }),
    "User-Agent": `Heliograph/${version}`,
    "Accept-Encoding": "identity",
  });
  const body = new Uint8Array();
  return sendAuthorized({ sender, tokens }, partner, {
    method: "OPTIONS",
    url,
    headers,
    body,
    timeoutMs: endpoint.timeoutMs,
    networks,
  });
}

function validationIn(outcome: AttemptOutcome, origin: string, nowMs: number): Validation {
  if (outcome.kind === "failure")
    return { failure: { ...outcome, detail: `validation of the endpoint: ${outcome.detail}` } };
  const rate = outcome.headers["webhook-allowed-rate"]?.trim() ?? "*";
  const why = rejectionIn(outcome, origin) ?? rateFault(rate);
  if (why !== undefined) {
    return {
      failure: {
        kind: "failure",
        reason: "consent",
        detail: `the endpoint does not consent: ${why}`,
        timings: outcome.timings,
        ...retryAfterOf(outcome, nowMs),
      },
    };
  }
  return rate === "*" ? granted : { perMinute: Number(rate) };
}

/** Source: ibid. §4.2. */
function rejectionIn({ status, headers }: ResponseOutcome, origin: string): string | undefined {
  if (status < 200 || status > 299) return `status ${status}`;
  const allowed = headers["webhook-allowed-origin"]?.trim().toLowerCase();
  if (allowed === undefined) return "no WebHook-Allowed-Origin";
  return allowed === "*" || allowed === origin.toLowerCase()
    ? undefined
    : "WebHook-Allowed-Origin names another origin";
}

function rateFault(rate: string): string | undefined {
  const isRate = rate === "*" || (rateForm.test(rate) && Number(rate) > 0);
  return isRate ? undefined : "WebHook-Allowed-Rate is not a number of deliveries per minute";
}
