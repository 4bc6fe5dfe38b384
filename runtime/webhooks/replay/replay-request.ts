import type { FieldError } from "../../errors/refusal.ts";
import { isTime, parseBody, type Body } from "./parse-body.ts";

/** The valid body of `POST /webhooks/replay`. */
export interface ReplayRequest {
  /** These events; otherwise those of a window. */
  readonly eventIds?: readonly string[];
  /** Start of the window, Unix milliseconds. */
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly afterId?: string;
  readonly beforeId?: string;
  readonly partners: readonly string[];
  readonly types: readonly string[];
  readonly onlyFailed: boolean;
  readonly dryRun: boolean;
  readonly ratePerSecond: number;
  readonly force: boolean;
}

/** The valid body of `POST /webhooks/dead-letters/redrive`. */
interface RedriveRequest extends Pick<ReplayRequest, "types" | "dryRun" | "ratePerSecond"> {
  /** `namespace/name`. */
  readonly partner: string;
  /** @default all reasons */
  readonly reason?: string;
  /** @default all events */
  readonly eventIds?: readonly string[];
}

/** The valid body of `POST /webhooks/ack`. */
export interface AckRequest {
  readonly eventId: string;
  /** `namespace/name`. */
  readonly partner: string;
  readonly note?: string;
  readonly tenant?: string;
}

const ratePerSecondDefault = 100;

/** @throws Refusal `invalid_json`, or `invalid_request` with every invalid field */
export function parseReplayRequest(bytes: Uint8Array): ReplayRequest {
  const body = parseBody("replay", bytes, sourceProblems);
  const { from, to } = body;
  return {
    ...common(body),
    partners: body.partners ?? [],
    onlyFailed: body.only_failed ?? false,
    force: body.force ?? false,
    ...given({ eventIds: body.event_ids, afterId: body.after_id, beforeId: body.before_id }),
    ...(from === undefined ? {} : { fromMs: Date.parse(from) }),
    ...(to === undefined ? {} : { toMs: Date.parse(to) }),
  };
}

/** A request has ids or a window, never both. A window has a beginning. */
function sourceProblems(body: Body): readonly FieldError[] {
  const problems: FieldError[] = [];
  const bounds = (["from", "to", "after_id", "before_id"] as const).filter((name) => body[name] !== undefined);
  if (body.event_ids === undefined && body.from === undefined && body.after_id === undefined) {
    const detail = "event_ids, or a window that begins with from or after_id, is required";
    problems.push({ field: "from", code: "required", detail });
  }
  if (body.event_ids !== undefined && bounds.length > 0) {
    const detail = `event_ids stand alone; remove them or ${bounds.join(" and ")}`;
    problems.push({ field: "event_ids", code: "conflict", detail });
  }
  if (isTime(body.from) && isTime(body.to) && Date.parse(body.from) >= Date.parse(body.to)) {
    problems.push({ field: "to", code: "invalid", detail: "to must be later than from" });
  }
  return problems;
}

/** @throws Refusal `invalid_json`, or `invalid_request` with every invalid field */
export function parseRedriveRequest(bytes: Uint8Array): RedriveRequest {
  const body = parseBody("redrive", bytes);
  const { reason, event_ids } = body;
  return { ...common(body), partner: body.partner, ...given({ reason, eventIds: event_ids }) };
}

/** @throws Refusal `invalid_json`, or `invalid_request` with every invalid field */
export function parseAckRequest(bytes: Uint8Array): AckRequest {
  const { event_id, partner: of, note, tenant } = parseBody("ack", bytes);
  return { eventId: event_id, partner: of, ...given({ note, tenant }) };
}

function common(body: Body): Pick<ReplayRequest, "types" | "dryRun" | "ratePerSecond"> {
  return {
    types: body.types ?? [],
    dryRun: body.dry_run ?? false,
    ratePerSecond: body.rate_per_second ?? ratePerSecondDefault,
  };
}

/** Omits members that are undefined. */
function given<T extends object>(members: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { readonly [K in keyof T]?: Exclude<T[K], undefined> };
}
