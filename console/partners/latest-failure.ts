import type { FailureCause, PartnerFailure } from "../../api/partner-health.ts";
import type { PartnerSummary } from "../../api/partners.ts";
import { formatWord } from "../components/format.ts";
import { failureCause } from "../events/failure-cause.ts";

/** What a failed attempt tells: what happened, and whose side the cause is on. */
export interface LatestFailure {
  /** Such as `HTTP 503`, or a sentence without its period. */
  readonly cause: string;
  /** Who can fix it, as a sentence. */
  readonly side: string;
  /** The first line of the response with a text; empty without one. */
  readonly response: string;
  /** Filter of the list of events that selects deliveries with the same failure. */
  readonly filter: Readonly<Record<string, string>>;
}

/** Reasons that are about this installation or the definition of the partner, not about the endpoint. */
const ownReasons: ReadonlySet<string> = new Set(["guard", "internal", "aborted", "backlog_full"]);
const responseCharactersMax = 200;

export function latestFailure({ status, reason, detail, response_body: body }: PartnerFailure): LatestFailure {
  const response = firstLine(body ?? "");
  if (status !== null)
    return { cause: `HTTP ${status}`, side: sideOf(status), response, filter: { status: String(status) } };
  const cause = failureCause({ reason, detail: detail ?? reason }).replace(/\.$/u, "");
  return { cause, side: sideOf(reason), response, filter: { reason } };
}

/** A failed attempt of a list in a few words, such as `last failure: HTTP 503`; undefined if none is known. */
export function failureWords(failure: FailureCause | null | undefined): string | undefined {
  if (failure === null || failure === undefined) return undefined;
  const { status, reason } = failure;
  const sentence = failureCause({ reason, detail: "" }).replace(/\.$/u, "");
  const cause = sentence === "" ? formatWord(reason) : `${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
  return `last failure: ${status === null ? cause : `HTTP ${status}`}`;
}

const failingKinds: ReadonlySet<string> = new Set(["failing", "circuit_open", "rate_limited"]);

/** The last failure of a partner that is not healthy because of failures. */
export function partnerFailureWords({ health, last_failure: failure }: PartnerSummary): string | undefined {
  return failingKinds.has(health?.kind ?? "") ? failureWords(failure) : undefined;
}

function firstLine(text: string): string {
  const line = text
    .split(/[\r\n]+/u)
    .map((one) => one.trim())
    .find((one) => one !== "");
  if (line === undefined || line.length <= responseCharactersMax) return line ?? "";
  return `${line.slice(0, responseCharactersMax).toWellFormed()}…`;
}

const rejections: Readonly<Record<number, string>> = {
  401: "The endpoint responded and rejected the request: compare its keys with those below.",
  403:
    "The endpoint responded and rejected the request: it may not allow the addresses that deliveries come from, or " +
    "have other keys than those below.",
};

function sideOf(cause: number | string): string {
  if (typeof cause === "number")
    return rejections[cause] ?? "The endpoint responded with an error: the cause is at the partner.";
  if (ownReasons.has(cause))
    return "Nothing was sent: the cause is in this installation or in the definition of the partner.";
  if (cause === "tls" || cause === "client_certificate")
    return "No request was sent: compare the certificates of the endpoint with those of the definition.";
  return "The endpoint did not respond: the cause is at the partner or on the network to it.";
}
