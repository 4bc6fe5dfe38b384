import { writtenTime } from "../../../api/documents.ts";
import { PingRequest } from "../../../api/partners.ts";
import {
  AckRequest as ackForm,
  eventIdsMax,
  filterMax,
  noteCharactersMax,
  ratePerSecondMax,
  replayForm,
  windowBounds,
} from "../../../api/replays.ts";
import { acknowledgeForm, redriveForm, selectionFilters } from "../../../api/selections.ts";
import type { Static } from "../../../api/schema.ts";
import type { ErrorObject, ValidateFunction } from "ajv";
import type { Ajv2020 } from "ajv/dist/2020.js";
import { ApiError, type FieldError } from "../../errors/api-error.ts";
import { isCalendarTime } from "../events/envelope.ts";
import type { SelectionAction } from "./replay-job.ts";

const timeForm = new RegExp(writtenTime.pattern, "u");

/** True when the value is a time in the format of bodies, and a real date. */
export const isTime = (value: unknown): value is string => isCalendarTime(value, timeForm);

/** Schemas of the bodies, which {@link parseBody} checks. */
const requestForms = {
  replay: replayForm,
  redrive: redriveForm,
  acknowledge: acknowledgeForm,
  ack: ackForm,
  ping: PingRequest,
};

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
  rate_per_second: `an integer from 1 to ${ratePerSecondMax}`,
  reason: "a reason like status_404",
  note: `a string of at most ${noteCharactersMax} characters`,
  tenant: "1 to 64 of A-Z, a-z, 0-9, _ and -",
  dead_letter_ids: `1 to ${eventIdsMax} ids of dead letters, as lists return them`,
  all: "true; leave it out to select by the other members",
};

type Forms = typeof requestForms;

/** The value of each form. */
export type Bodies = { readonly [Name in keyof Forms]: Static<Forms[Name]> };

/** Lengths are counted in UTF-16 units. Tests check the forms against the schema of schemas, which takes most time. */
const options = {
  allErrors: true,
  unicode: false,
  logger: false,
  formats: { "date-time": isTime },
  meta: false,
  validateSchema: false,
} as const;

/** Checks bodies by the draft of the OpenAPI document. */
let ajv: Ajv2020 | undefined;

/** Loads Ajv for the first body, and compiles a form for the first body of it, so that no start waits for either. */
async function validatorOf(name: keyof Forms): Promise<ValidateFunction> {
  const { Ajv2020: Validator } = await import("ajv/dist/2020.js");
  ajv ??= new Validator(options);
  return ajv.compile(requestForms[name]);
}

/**
 * Parses a body and checks it against its form.
 * @param moreProblems problems that the form cannot express
 * @throws ApiError `invalid_json`, or `invalid_request` with every member at fault
 */
export async function parseBody<Name extends keyof Forms>(
  name: Name,
  bytes: Uint8Array,
  moreProblems: (body: Bodies[Name]) => readonly FieldError[] = () => [],
): Promise<Bodies[Name]> {
  const body = parseObject(bytes) as Bodies[Name];
  const validate = await validatorOf(name);
  const found = validate(body) ? [] : (validate.errors ?? []).map(problemOf);
  // A list has one problem for each item at fault.
  const problems = [...new Map(found.map((problem) => [problem.field, problem])).values(), ...moreProblems(body)];
  if (problems.length === 0) return body;
  throw new ApiError("invalid_request", "The request is not valid", { errors: problems.slice(0, filterMax) });
}

function problemOf({ keyword, params, instancePath }: ErrorObject): FieldError {
  const { missingProperty, additionalProperty } = params as Readonly<Record<string, string>>;
  const field = missingProperty ?? additionalProperty ?? instancePath.split("/")[1] ?? "";
  if (keyword === "required") return { field, code: "required", detail: `${field} is required: ${mustBe[field]}` };
  if (keyword === "additionalProperties")
    return { field, code: "unknown", detail: `${field} is not a member of this request; remove it` };
  return { field, code: "invalid", detail: `${field} must be ${mustBe[field]}` };
}

function parseObject(body: Uint8Array): object {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (cause) {
    throw new ApiError("invalid_json", "The body must be a single JSON object in UTF-8", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ApiError("invalid_request", "The body must be a JSON object");
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

/** The valid body of a redrive or of an acknowledgement: dead letters that have all of these members. */
export interface SelectionRequest extends Pick<ReplayRequest, "types" | "dryRun" | "ratePerSecond"> {
  /** `namespace/name`. @default all partners of the caller */
  readonly partner?: string;
  readonly reason?: string;
  /** @default all tenants of the caller */
  readonly tenant?: string;
  /** Start by the end of the delivery, Unix milliseconds. */
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly eventIds?: readonly string[];
  readonly letterIds?: readonly string[];
  readonly note?: string;
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

/** @throws ApiError `invalid_json`, or `invalid_request` with every invalid field */
export async function parseReplayRequest(bytes: Uint8Array): Promise<ReplayRequest> {
  const body = await parseBody("replay", bytes, sourceProblems);
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
function sourceProblems(body: Bodies["replay"]): readonly FieldError[] {
  const problems: FieldError[] = [];
  const bounds = windowBounds.filter((name) => body[name] !== undefined);
  if (body.event_ids === undefined && body.from === undefined && body.after_id === undefined) {
    const detail = "either event_ids, or a window with from or after_id, is required";
    problems.push({ field: "from", code: "required", detail });
  }
  if (body.event_ids !== undefined && bounds.length > 0) {
    const detail = `event_ids cannot be combined with a window; remove them or ${bounds.join(" and ")}`;
    problems.push({ field: "event_ids", code: "conflict", detail });
  }
  if (isTime(body.from) && isTime(body.to) && Date.parse(body.from) >= Date.parse(body.to))
    problems.push({ field: "to", code: "invalid", detail: "to must be later than from" });
  return problems;
}

/** @throws ApiError `invalid_json`, or `invalid_request` with every invalid field */
export async function parseSelection(name: SelectionAction, bytes: Uint8Array): Promise<SelectionRequest> {
  const body: Bodies["acknowledge"] = await parseBody(name, bytes, selectionProblems);
  const { partner, reason, tenant, from, to, event_ids: eventIds, dead_letter_ids: letterIds, note } = body;
  return {
    ...common(body),
    ...given({ partner, reason, tenant, eventIds, letterIds, note }),
    ...(from === undefined ? {} : { fromMs: Date.parse(from) }),
    ...(to === undefined ? {} : { toMs: Date.parse(to) }),
  };
}

/** An empty body selects nothing, so that a forgotten filter does not select everything. */
function selectionProblems(body: Bodies["acknowledge"]): readonly FieldError[] {
  const { from, to } = body;
  const problems: FieldError[] = [];
  if (selectionFilters.every((name) => body[name as keyof typeof body] === undefined)) {
    const detail = "partner or another filter is required; all: true selects all dead letters";
    problems.push({ field: "partner", code: "required", detail });
  }
  if (isTime(from) && isTime(to) && Date.parse(from) >= Date.parse(to))
    problems.push({ field: "to", code: "invalid", detail: "to must be later than from" });
  return problems;
}

/** @throws ApiError `invalid_json`, or `invalid_request` with every invalid field */
export async function parseAckRequest(bytes: Uint8Array): Promise<AckRequest> {
  const { event_id, partner: of, note, tenant } = await parseBody("ack", bytes);
  return { eventId: event_id, partner: of, ...given({ note, tenant }) };
}

function common(
  body: Bodies["replay"] | Bodies["acknowledge"],
): Pick<ReplayRequest, "types" | "dryRun" | "ratePerSecond"> {
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
