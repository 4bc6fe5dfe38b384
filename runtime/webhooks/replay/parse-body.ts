import { writtenTime } from "../../../api/documents.ts";
import { PingRequest } from "../../../api/partners.ts";
import {
  AckRequest as ackForm,
  eventIdsMax,
  filterMax,
  noteCharactersMax,
  ratePerSecondMax,
  RedriveRequest as redriveForm,
  replayForm,
} from "../../../api/replays.ts";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Refusal, type FieldError } from "../../errors/refusal.ts";
import { isCalendarTime } from "../events/envelope.ts";

const timeForm = new RegExp(writtenTime.pattern, "u");

/** True when the value is a time in the format of bodies, and a real date. */
export const isTime = (value: unknown): value is string => isCalendarTime(value, timeForm);

/** Schemas of the bodies, which {@link parseBody} checks. */
const requestForms = { replay: replayForm, redrive: redriveForm, ack: ackForm, ping: PingRequest };

const ids = "1 to 128 visible ASCII characters without spaces";
const yesOrNo = "true or false";
const moment = "a time like 2026-01-31T12:00:00.000Z";
/** Completes the sentence "… must be …" for each member. */
const mustBe: Readonly<Record<string, string>> = {
  event_ids: `1 to ${eventIdsMax} event ids`,
  event_id: ids,
  after_id: ids,
  before_id: ids,
  from: moment,
  to: moment,
  partners: `at most ${filterMax} names like namespace/name`,
  partner: "a name like namespace/name",
  types: `at most ${filterMax} types or patterns like payout.*`,
  only_failed: yesOrNo,
  force: yesOrNo,
  dry_run: yesOrNo,
  rate_per_second: `a whole number from 1 to ${ratePerSecondMax}`,
  reason: "a reason like status_404",
  note: `a text of at most ${noteCharactersMax} characters`,
  tenant: "1 to 64 of A-Z, a-z, 0-9, _ and -",
};

/** Members of a body that its form allows. */
interface Body {
  readonly event_id: string;
  readonly partner: string;
  readonly event_ids?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly after_id?: string;
  readonly before_id?: string;
  readonly partners?: readonly string[];
  readonly types?: readonly string[];
  readonly only_failed?: boolean;
  readonly force?: boolean;
  readonly dry_run?: boolean;
  readonly rate_per_second?: number;
  readonly reason?: string;
  readonly note?: string;
  readonly tenant?: string;
}

type FormName = keyof typeof requestForms;

/** Validators. Each is compiled for the first body of its form, which takes milliseconds. */
const validators: Partial<Record<FormName, ValidateFunction>> = {};

function compile(name: FormName): ValidateFunction {
  // Lengths are counted in UTF-16 units.
  const options = { allErrors: true, unicode: false, logger: false, formats: { "date-time": isTime } } as const;
  return new Ajv(options).compile(requestForms[name]);
}

/**
 * Parses a body and checks it against its form.
 * @param moreProblems problems that the form cannot express
 * @throws Refusal `invalid_json`, or `invalid_request` with every member at fault
 */
export function parseBody(
  name: FormName,
  bytes: Uint8Array,
  moreProblems: (body: Body) => readonly FieldError[] = () => [],
): Body {
  const body = parseObject(bytes) as Body;
  const validate = (validators[name] ??= compile(name));
  const found = validate(body) ? [] : (validate.errors ?? []).map(problemOf);
  // A list has one problem for each item at fault.
  const problems = [...new Map(found.map((problem) => [problem.field, problem])).values(), ...moreProblems(body)];
  if (problems.length === 0) return body;
  throw new Refusal("invalid_request", "The request is not valid", { errors: problems.slice(0, filterMax) });
}

function problemOf({ keyword, params, instancePath }: ErrorObject): FieldError {
  const { missingProperty, additionalProperty } = params as Readonly<Record<string, string>>;
  const field = missingProperty ?? additionalProperty ?? instancePath.split("/")[1] ?? "";
  if (keyword === "required") return { field, code: "required", detail: `${field} is required: ${mustBe[field]}` };
  if (keyword === "additionalProperties")
    return { field, code: "unknown", detail: `${field} is no member of this request; remove it` };
  return { field, code: "invalid", detail: `${field} must be ${mustBe[field]}` };
}

function parseObject(body: Uint8Array): object {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (cause) {
    throw new Refusal("invalid_json", "The body is one JSON object in UTF-8", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Refusal("invalid_request", "The body is a JSON object");
  }
  return value;
}

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
