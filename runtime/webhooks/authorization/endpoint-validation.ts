import { BoundedMap } from "../../bounds/bounded-map.ts";
import { ExpiringMap } from "../../bounds/expiring-map.ts";
import { createSingleFlight } from "../../bounds/single-flight.ts";
import type { FailureOutcome, Outcome, ResponseOutcome } from "../settlement/outcome.ts";
import type { Partner } from "../partners/partner.ts";
import type { Sender } from "../sending/send.ts";
import { sendAuthorized } from "./send-authorized.ts";
import type { Tokens } from "./access-tokens.ts";

/** What an endpoint says to the question whether it wants deliveries. */
type Validation =
  | {
      readonly failure?: undefined;
      /** Deliveries that it takes in a minute; absent: as many as there are. */
      readonly perMinute?: number;
    }
  | { readonly failure: FailureOutcome };

/** What an endpoint answered to the question whether it wants deliveries. */
export interface EndpointValidation {
  /** Absent: it consents. */
  readonly failure?: FailureOutcome;
  /** Since when it says so, Unix milliseconds by JetStream's clock. */
  readonly sinceMs: number;
}

/** Consents of endpoints that want to be asked, kept for a while. */
export interface EndpointValidations {
  /** What the partner's endpoint answered, as far as this pod asked; of several URLs the one that fails. */
  verdictOf(partner: Partner): EndpointValidation | undefined;
  /** Asks the endpoint unless it was asked of late; an endpoint that need not be asked consents. Never rejects. */
  of(partner: Partner, url: URL): Promise<Validation>;
}

interface EndpointValidationDeps {
  readonly sender: Sender;
  readonly tokens: Tokens;
  /** `WebHook-Request-Origin`. */
  readonly origin: string;
  /** Version of this program, for `User-Agent`. */
  readonly version: string;
  /** JetStream's clock, Unix milliseconds. @default Date.now */
  readonly now?: () => number;
  /** Milliseconds of a clock that never goes back. @default performance.now */
  readonly monotonicMs?: () => number;
}

interface Said {
  /** By URL; none: all that were asked consent. */
  readonly failures: ReadonlyMap<string, FailureOutcome>;
  readonly sinceMs: number;
}

const keptMax = 4_096;
/** URLs of one partner that are remembered to fail. */
const failuresMax = 16;
/** A rate that was lowered is obeyed after this long at the latest. */
const grantedMs = 3_600_000;
/** So long nobody is asked again: what waits is tried by its own schedule. */
const refusedMs = 30_000;
const secondsPerMinute = 60;
const rateForm = /^\d{1,9}$/u;
const granted: Validation = {};

/**
 * Asks endpoints for their consent before the first delivery, one request at a time for each of their URLs. The answer
 * lasts as long as the partner's resource and its secrets stay the same, an hour at most; a refusal half a minute.
 * Source: CloudEvents "HTTP 1.1 Web Hooks for Event Delivery" 1.0.2 §4 (asynchronous consent by
 * `WebHook-Request-Callback` is not offered).
 */
export function createEndpointValidations(deps: EndpointValidationDeps): EndpointValidations {
  const known = new ExpiringMap<string, Validation>(keptMax);
  const said = new BoundedMap<string, Said>(keptMax);
  const once = createSingleFlight<Validation>();
  const nowMs = deps.monotonicMs ?? (() => performance.now());
  const asked = async (key: string, partner: Partner, url: URL): Promise<Validation> => {
    const validation = validationIn(await ask(deps, partner, url), deps.origin);
    said.set(
      partner.fingerprint,
      saidNow(said.get(partner.fingerprint), url.href, validation, (deps.now ?? Date.now)()),
    );
    known.set(key, validation, nowMs() + (validation.failure === undefined ? grantedMs : refusedMs));
    return validation;
  };
  return {
    verdictOf: ({ fingerprint }) => {
      const one = said.get(fingerprint);
      const [failure] = one?.failures.values() ?? [];
      return one === undefined ? undefined : { sinceMs: one.sinceMs, ...(failure === undefined ? {} : { failure }) };
    },
    of: async (partner, url) => {
      if (partner.config.endpoint.verification === undefined) {
        return granted;
      }
      const key = `${partner.fingerprint} ${url.href}`;
      return known.use(key, nowMs()) ?? once(key, () => asked(key, partner, url));
    },
  };
}

function saidNow(before: Said | undefined, url: string, { failure }: Validation, nowMs: number): Said {
  const others = [...(before?.failures ?? [])].filter(([other]) => other !== url);
  const all: readonly (readonly [string, FailureOutcome])[] =
    failure === undefined ? others : [[url, failure], ...others];
  const failures = new Map(all.slice(0, failuresMax));
  const isSame = before !== undefined && before.failures.size > 0 === failures.size > 0;
  return { failures, sinceMs: isSame ? before.sinceMs : nowMs };
}

/** The rate that is asked for is that of the partner's own limit, if it has one. Source: ibid. §4.1. */
function ask(
  { sender, tokens, origin, version }: EndpointValidationDeps,
  partner: Partner,
  url: URL,
): Promise<Outcome> {
  const { endpoint, delivery, networks } = partner.config;
  const rate =
    delivery.rate === undefined ? undefined : Math.max(1, Math.floor(delivery.rate.perSecond * secondsPerMinute));
  const headers = {
    ...endpoint.headers,
    "WebHook-Request-Origin": origin,
    ...(rate === undefined ? {} : { "WebHook-Request-Rate": String(rate) }),
    "User-Agent": `Heliograph/${version}`,
    "Accept-Encoding": "identity",
  };
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

function validationIn(outcome: Outcome, origin: string): Validation {
  if (outcome.kind === "failure") {
    return { failure: { ...outcome, detail: `asked for consent: ${outcome.detail}` } };
  }
  const rate = outcome.headers["webhook-allowed-rate"]?.trim() ?? "*";
  const why = refusalIn(outcome, origin) ?? rateFault(rate);
  if (why !== undefined) {
    return {
      failure: {
        kind: "failure",
        reason: "consent",
        detail: `the endpoint does not consent: ${why}`,
        timings: outcome.timings,
      },
    };
  }
  return rate === "*" ? granted : { perMinute: Number(rate) };
}

/** Source: ibid. §4.2. */
function refusalIn({ status, headers }: ResponseOutcome, origin: string): string | undefined {
  if (status < 200 || status > 299) {
    return `status ${status}`;
  }
  const allowed = headers["webhook-allowed-origin"]?.trim().toLowerCase();
  if (allowed === undefined) {
    return "no WebHook-Allowed-Origin";
  }
  return allowed === "*" || allowed === origin.toLowerCase()
    ? undefined
    : "WebHook-Allowed-Origin names another origin";
}

function rateFault(rate: string): string | undefined {
  const isRate = rate === "*" || (rateForm.test(rate) && Number(rate) > 0);
  return isRate ? undefined : "WebHook-Allowed-Rate is no number of deliveries in a minute";
}
