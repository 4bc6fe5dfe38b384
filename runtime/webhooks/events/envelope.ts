// Events: parsing of the envelope, checks for personal data, reserved types and subscriptions. Nothing is stored
// here.
import { timeKeywords } from "../../../api/documents.ts";
import { eventTexts, type EventEnvelope, ownDomain } from "../../../api/events.ts";
import { ApiError, type FieldError } from "../../errors/api-error.ts";
import { walkJson } from "../../json/json-walk.ts";
import {
  fieldPath,
  searchPersonalData,
  type PersonalDataRules,
  type PersonalDataSearch,
  searchUnportable,
} from "./personal-data.ts";

/** The fields of an event that this program reads. All others pass unchanged. Source: seed §2.1. */
export interface Envelope {
  readonly eventId: string;
  /** Dotted, for example `payout.processed`. */
  readonly type: string;
  /** `YYYY-MM-DD`. */
  readonly version: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly ts: string;
  readonly producer?: string;
  /** {@link noTenant} for an event without a tenant. */
  readonly tenant: string;
  readonly data?: object;
}

/** A valid event with its bytes. */
export interface ValidEnvelope {
  readonly envelope: Envelope;
  /** Exactly as received. */
  readonly bytes: Uint8Array;
  /** True if a double would round a number of it, so that `envelope` has another number. */
  readonly hasLongNumbers: boolean;
}

/** Prefix of the ids of operational events. Producers must not use it, because ids are unique in the installation. */
export const ownIdPrefix = `${ownDomain}:`;

/** Type of a ping: a test event that a caller requests for one partner. */
export const pingType = `${ownDomain}.ping`;

/** True for the type of a ping, which no metric of an objective counts. */
export function isPing(type: string): boolean {
  return type === pingType;
}

/** True when a type is reserved for operational events and pings. */
export function isOwnType(type: string): boolean {
  return type.startsWith(`${ownDomain}.`);
}

/** Largest event, in bytes. */
export const eventBytesMax = 262_144;
/** Maximum nesting of objects and lists, including the envelope. */
export const eventDepthMax = 32;

/** The tenant of an event without one, in subjects and subscriptions. No tenant has this name. */
export const noTenant = "-";

const problemsMax = 20;

interface FieldRule {
  readonly name: keyof EventEnvelope;
  readonly isRequired: boolean;
  /** Completes the sentence "must be …". */
  readonly mustBe: string;
  readonly accepts: (value: unknown) => boolean;
}

/** Positions of month and day in `YYYY-MM-DD`. */
const [monthStart, monthEnd, dayStart, dayEnd] = [5, 7, 8, 10];
const byteOrderMark = 0xfeff;
const dateForm = /^\d{4}-\d{2}-\d{2}$/u;
const timeForm = new RegExp(timeKeywords.pattern, "u");

function text({ pattern, maxLength = Number.POSITIVE_INFINITY }: TextKeywords): (value: unknown) => boolean {
  const form = new RegExp(pattern, "u");
  return (value) => typeof value === "string" && value.length <= maxLength && form.test(value);
}

interface TextKeywords {
  readonly pattern: string;
  readonly maxLength?: number;
}

/** True when the value is a text of this form and a real date, which 30 February is not. */
export function isCalendarTime(value: unknown, form: RegExp): value is string {
  if (typeof value !== "string" || !form.test(value)) return false;
  // A day after the end of its month parses as another day, and any other invalid time as NaN.
  const at = new Date(value);
  return (
    at.getUTCDate() === Number(value.slice(dayStart, dayEnd)) &&
    at.getUTCMonth() + 1 === Number(value.slice(monthStart, monthEnd))
  );
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Source: seed "Webhook Event Delivery" §2.1. */
const fieldRules: readonly FieldRule[] = [
  {
    name: "event_id",
    isRequired: true,
    mustBe: "1 to 128 visible ASCII characters without spaces",
    accepts: text(eventTexts.event_id),
  },
  {
    name: "type",
    isRequired: true,
    mustBe: "2 or more dot-separated segments of A-Z, a-z, 0-9, _ and -, at most 128 characters",
    accepts: text(eventTexts.type),
  },
  {
    name: "version",
    isRequired: true,
    mustBe: "a date like 2026-01-31",
    accepts: (value) => isCalendarTime(value, dateForm),
  },
  {
    name: "ts",
    isRequired: true,
    mustBe: "a UTC time with milliseconds and Z, like 2026-01-31T12:00:00.000Z; a leap second is sent as :59",
    accepts: (value) => isCalendarTime(value, timeForm),
  },
  {
    name: "producer",
    isRequired: false,
    mustBe: "1 to 128 printable ASCII characters without leading or trailing spaces",
    accepts: text(eventTexts.producer),
  },
  {
    name: "tenant",
    isRequired: false,
    mustBe: "1 to 64 of A-Z, a-z, 0-9, _ and -, not beginning with -",
    accepts: text(eventTexts.tenant),
  },
  { name: "data", isRequired: false, mustBe: "an object", accepts: isObject },
];

/**
 * Parses and checks one event.
 *
 * @throws ApiError `body_too_large`, `invalid_utf8`, `invalid_json`, `invalid_envelope` with every invalid field, or
 *   `personal_data` with every field that contains some
 */
export function parseEnvelope(bytes: Uint8Array, rules: PersonalDataRules): ValidEnvelope {
  if (bytes.byteLength > eventBytesMax)
    throw new ApiError("body_too_large", `An event can have at most ${eventBytesMax} bytes`);
  const source = eventText(bytes);
  const fields = parseObject(source);
  const search = searchPersonalData(rules, typeOf(fields));
  const { problems: shape, hasLongNumbers } = shapeOf(source, search);
  const problems = [...fieldProblems(fields), ...shape].slice(0, problemsMax);
  if (problems.length > 0)
    throw new ApiError("invalid_envelope", "The event envelope is not valid", { errors: problems });
  const { findings } = search;
  if (findings.length > 0) throw new ApiError("personal_data", "The event carries personal data", { errors: findings });
  return { envelope: readFields(fields as EventEnvelope), bytes, hasLongNumbers };
}

/** Created once, because its creation costs more than the decoding of an event. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of an event. @throws ApiError `invalid_utf8` */
export function eventText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new ApiError("invalid_utf8", "An event must be JSON in UTF-8", { cause });
  }
}

function parseObject(source: string): object {
  if (source.codePointAt(0) === byteOrderMark)
    throw new ApiError("invalid_json", "An event must not start with a byte order mark");
  const value = parseJson(source);
  if (!isObject(value)) throw new ApiError("invalid_envelope", "An event must be a JSON object");
  return value;
}

/** Empty for an event without a type, which the checks of its fields report. */
function typeOf(fields: object): string {
  const { type } = fields as { readonly type?: unknown };
  return typeof type === "string" ? type : "";
}

function parseJson(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (cause) {
    throw new ApiError("invalid_json", "An event must be a single JSON object", { cause });
  }
}

function fieldProblems(fields: object): readonly FieldError[] {
  const values = fields as Readonly<Record<string, unknown>>;
  const problems: FieldError[] = [];
  for (const { name, isRequired, mustBe, accepts } of fieldRules) {
    if (Object.hasOwn(values, name)) {
      if (!accepts(values[name])) problems.push({ field: name, code: "invalid", detail: `${name} must be ${mustBe}` });
    } else if (isRequired) problems.push({ field: name, code: "required", detail: `${name} is required: ${mustBe}` });
  }
  if (Object.hasOwn(values, "attempt"))
    problems.push({ field: "attempt", code: "not_allowed", detail: "attempt is set by the sender; remove it" });
  return problems;
}

/**
 * Finds problems that `JSON.parse` hides: depth, repeated names, and values that parsers read differently. The search
 * for personal data runs in the same walk, which halves the cost.
 */
function shapeOf(source: string, search: PersonalDataSearch) {
  const problems: FieldError[] = [];
  const unportable = searchUnportable((problem) => problems.push(problem));
  const isShallow = walkJson(source, eventDepthMax, {
    member: (name, pathOf, isRepeated) => {
      const detail = "the object contains this name more than once; send it once";
      if (isRepeated) problems.push({ field: fieldPath(pathOf()), code: "repeated", detail });
      unportable.member(name, pathOf, isRepeated);
      search.member(name, pathOf, isRepeated);
    },
    string: (value, pathOf) => {
      unportable.string(value, pathOf);
      search.string(value, pathOf);
    },
    number: (digits, pathOf) => {
      unportable.number(digits, pathOf);
      search.number(digits, pathOf);
    },
  });
  const detail = `The object is nested deeper than ${eventDepthMax} levels; send a flatter object`;
  if (!isShallow) problems.push({ field: "data", code: "too_deep", detail });
  return { problems, hasLongNumbers: unportable.hasLongNumbers() };
}

function readFields({ event_id, type, version, ts, producer, tenant, data }: EventEnvelope): Envelope {
  return {
    eventId: event_id,
    type,
    version,
    ts,
    tenant: tenant ?? noTenant,
    ...(producer === undefined ? {} : { producer }),
    ...(data === undefined ? {} : { data }),
  };
}
