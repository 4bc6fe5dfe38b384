import { Refusal, type FieldError } from "../../errors/refusal.ts";
import { isMoment } from "../events/envelope.ts";

/** The body of `POST /webhooks/replay`, checked. Source: wire, "Webhooks". */
export interface ReplayRequest {
  /** Either these … */
  readonly eventIds?: readonly string[];
  /** … or those of a window, in Unix milliseconds. */
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

/** The body of `POST /webhooks/dead-letters/redrive`, checked. */
interface RedriveRequest extends Pick<ReplayRequest, "types" | "dryRun" | "ratePerSecond"> {
  /** `namespace/name`. */
  readonly partner: string;
  /** @default every reason */
  readonly reason?: string;
  /** @default every event */
  readonly eventIds?: readonly string[];
}

/** The body of `POST /webhooks/ack`, checked. */
export interface AckRequest {
  readonly eventId: string;
  /** `namespace/name`. */
  readonly partner: string;
  readonly note?: string;
  readonly tenant?: string;
}

export const eventIdsMax = 1_000;
const ratePerSecondDefault = 100;
export const ratePerSecondMax = 10_000;
export const filterMax = 64;
export const noteCharactersMax = 1_024;
/** How the texts of a request are written; the served schemas say the same. */
export const requestForms = {
  id: /^[\x21-\x7e]{1,128}$/u,
  partner: /^[a-z0-9][a-z0-9.-]{0,252}[/][a-z0-9][a-z0-9.-]{0,252}$/u,
  type: /^[A-Za-z0-9_*-]+(?:[.][A-Za-z0-9_*-]+)*$/u,
  reason: /^[a-z0-9_]{1,64}$/u,
  tenant: /^[A-Za-z0-9_-]{1,64}$/u,
  time: /^(?:19[7-9]\d|[2-9]\d{3})-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.]\d{1,9})?Z$/u,
} as const;
const forms = requestForms;

type Check<T> = (value: unknown) => value is T;

const text =
  (form: RegExp): Check<string> =>
  (value): value is string =>
    typeof value === "string" && form.test(value);
const isFlag: Check<boolean> = (value): value is boolean => typeof value === "boolean";
const isNote: Check<string> = (value): value is string =>
  typeof value === "string" && value.length <= noteCharactersMax;
const isRate: Check<number> = (value): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= ratePerSecondMax;
const isTime: Check<string> = (value): value is string => isMoment(value, forms.time);
const list =
  (item: Check<string>, countMax: number, countMin = 0): Check<readonly string[]> =>
  (value): value is readonly string[] =>
    Array.isArray(value) && value.length >= countMin && value.length <= countMax && value.every(item);

const mustBe = {
  event_ids: `1 to ${eventIdsMax} event ids`,
  id: "1 to 128 visible ASCII characters without spaces",
  time: "a time like 2026-01-31T12:00:00.000Z",
  partners: `at most ${filterMax} names like namespace/name`,
  partner: "a name like namespace/name",
  types: `at most ${filterMax} types or patterns like payout.*`,
  flag: "true or false",
  rate: `a whole number from 1 to ${ratePerSecondMax}`,
  reason: "a reason like status_404",
  note: `a text of at most ${noteCharactersMax} characters`,
  tenant: "1 to 64 of A-Z, a-z, 0-9, _ and -",
} as const;

/** Reads the fields of a body one by one and remembers what is wrong with them. */
class Fields {
  readonly #values: Map<string, unknown>;
  readonly #problems: FieldError[] = [];
  readonly #known = new Set<string>();

  constructor(body: Uint8Array) {
    this.#values = new Map(Object.entries(parseObject(body)));
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  optional<T>(name: string, check: Check<T>, detail: string): T | undefined {
    this.#known.add(name);
    const value = this.#values.get(name);
    if (value === undefined || check(value)) {
      return value;
    }
    this.fail(name, "invalid", `${name} must be ${detail}`);
    return undefined;
  }

  required(name: string, check: Check<string>, detail: string): string {
    const value = this.optional(name, check, detail);
    if (value === undefined && !this.has(name)) {
      this.fail(name, "required", `${name} is required: ${detail}`);
    }
    return value ?? "";
  }

  fail(field: string, code: string, detail: string): void {
    this.#problems.push({ field, code, detail });
  }

  /** @throws Refusal when anything was wrong, or a field is not known */
  end(): void {
    for (const name of [...this.#values.keys()].filter((key) => !this.#known.has(key))) {
      this.fail(name, "unknown", `${name} is not known here`);
    }
    if (this.#problems.length > 0) {
      throw new Refusal("invalid_request", "The request is not valid", { errors: this.#problems.slice(0, filterMax) });
    }
  }
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

/** @throws Refusal `invalid_json`, or `invalid_request` with every field at fault */
export function parseReplayRequest(body: Uint8Array): ReplayRequest {
  const fields = new Fields(body);
  const eventIds = fields.optional("event_ids", list(text(forms.id), eventIdsMax, 1), mustBe.event_ids);
  const from = fields.optional("from", isTime, mustBe.time);
  const to = fields.optional("to", isTime, mustBe.time);
  const afterId = fields.optional("after_id", text(forms.id), mustBe.id);
  const beforeId = fields.optional("before_id", text(forms.id), mustBe.id);
  const request = {
    ...common(fields),
    partners: fields.optional("partners", list(text(forms.partner), filterMax), mustBe.partners) ?? [],
    onlyFailed: fields.optional("only_failed", isFlag, mustBe.flag) ?? false,
    force: fields.optional("force", isFlag, mustBe.flag) ?? false,
    ...given({ eventIds, afterId, beforeId }),
    ...(from === undefined ? {} : { fromMs: Date.parse(from) }),
    ...(to === undefined ? {} : { toMs: Date.parse(to) }),
  };
  checkSource(fields, request);
  fields.end();
  return request;
}

/** Ids or a window, never both; a window is open at one end at most. */
function checkSource(fields: Fields, request: Pick<ReplayRequest, "fromMs" | "toMs">): void {
  const bounds = ["from", "to", "after_id", "before_id"].filter((name) => fields.has(name));
  if (fields.has("event_ids") && bounds.length > 0) {
    fields.fail("event_ids", "conflict", `event_ids stand alone, without ${bounds.join(" and ")}`);
  }
  if (!fields.has("event_ids") && !fields.has("from") && !fields.has("after_id")) {
    fields.fail("from", "required", "event_ids, or a window that begins with from or after_id, is required");
  }
  if (request.fromMs !== undefined && request.toMs !== undefined && request.fromMs >= request.toMs) {
    fields.fail("to", "invalid", "to must be later than from");
  }
}

/** @throws Refusal `invalid_json`, or `invalid_request` with every field at fault */
export function parseRedriveRequest(body: Uint8Array): RedriveRequest {
  const fields = new Fields(body);
  const request = {
    ...common(fields),
    partner: fields.required("partner", text(forms.partner), mustBe.partner),
    ...given({
      reason: fields.optional("reason", text(forms.reason), mustBe.reason),
      eventIds: fields.optional("event_ids", list(text(forms.id), eventIdsMax, 1), mustBe.event_ids),
    }),
  };
  fields.end();
  return request;
}

/** @throws Refusal `invalid_json`, or `invalid_request` with every field at fault */
export function parseAckRequest(body: Uint8Array): AckRequest {
  const fields = new Fields(body);
  const request = {
    eventId: fields.required("event_id", text(forms.id), mustBe.id),
    partner: fields.required("partner", text(forms.partner), mustBe.partner),
    ...given({
      note: fields.optional("note", isNote, mustBe.note),
      tenant: fields.optional("tenant", text(forms.tenant), mustBe.tenant),
    }),
  };
  fields.end();
  return request;
}

function common(fields: Fields): Pick<ReplayRequest, "types" | "dryRun" | "ratePerSecond"> {
  return {
    types: fields.optional("types", list(text(forms.type), filterMax), mustBe.types) ?? [],
    dryRun: fields.optional("dry_run", isFlag, mustBe.flag) ?? false,
    ratePerSecond: fields.optional("rate_per_second", isRate, mustBe.rate) ?? ratePerSecondDefault,
  };
}

/** The members that are there: an absent one is no undefined one. */
function given<T extends object>(members: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { readonly [K in keyof T]?: Exclude<T[K], undefined> };
}
