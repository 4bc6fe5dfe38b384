// The usage of clients: hourly rows in a stream, and the figures of the last minutes. Counts are in `admission/`.
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { queryClasses } from "../../../crds/config.ts";
import { type UsageHour, type UsageRow, usageSums } from "../admission/usage-counts.ts";

/** The stored hourly usage of all pods. Every method throws an Error when NATS does not respond. */
export interface UsageStore {
  /** Unix milliseconds by the clock of the store, of which hours are made. */
  now(): number;
  /** Replaces the message of a place. Returns its sequence; undefined if the last message is not the expected one. */
  write(
    place: UsagePlace,
    payload: Uint8Array,
    expected: { readonly afterSeq: number; readonly id: string },
  ): Promise<number | undefined>;
  /** Sequence of the last message of a place; 0 without one. */
  lastSeq(place: UsagePlace): Promise<number>;
  /** Unix milliseconds of the creation of the store; undefined while it is missing. */
  createdAtMs(): Promise<number | undefined>;
  /** Reads the messages that were last written at this time or later. */
  read(sinceMs: number): AsyncIterable<{ readonly hour: UsageHour; readonly payload: Uint8Array }>;
}

/** A chunk of the rows that one run of a pod counted in an hour. */
export interface UsagePlace {
  readonly hour: UsageHour;
  readonly writer: string;
  readonly chunk: number;
}

/** The content of a message. */
export interface UsageMessage {
  readonly rows: readonly UsageRow[];
  /** Unix milliseconds until which a live pod did not count, such as one of an earlier version; 0 for none. */
  readonly uncountedUntilMs: number;
  /** Requests that were counted and not stored, with their hour. */
  readonly lost: readonly (readonly [hour: UsageHour, requests: number])[];
}

interface StoredForm extends Omit<UsageMessage, "rows"> {
  readonly form: typeof form;
  readonly texts: readonly string[];
  /** Places of client, tenant and metric in the texts, the place of the class, then the sums. */
  readonly rows: readonly number[];
  /** Of each row: place of a use in the texts, its requests, and so on. Absent in messages of earlier versions. */
  readonly uses?: readonly (readonly number[])[];
}

const form = 1;
const keyLength = 4;
const rowLength = keyLength + usageSums.length;
/** The fastest level: rows are much alike. */
const level = 1;
/** A chunk has far less. */
const textBytesMax = 4 * 1024 * 1024;

/** Encodes a message. */
export function encodeUsage({ rows, ...about }: UsageMessage): Uint8Array {
  const places = new Map<string, number>();
  const placeOf = (text: string): number => {
    const place = places.get(text) ?? places.size;
    places.set(text, place);
    return place;
  };
  const numbers = rows.flatMap((row) => [
    placeOf(row.client),
    placeOf(row.tenant),
    placeOf(row.metric),
    queryClasses.indexOf(row.queryClass),
    ...usageSums.map((name) => row[name]),
  ]);
  const uses = rows.map(({ uses: own = [] }) => [...own].flatMap(([name, requests]) => [placeOf(name), requests]));
  const stored: StoredForm = { form, ...about, texts: [...places.keys()], rows: numbers, uses };
  return deflateRawSync(JSON.stringify(stored), { level });
}

/** Decodes a message; undefined for the form of another version. */
export function decodeUsage(payload: Uint8Array): UsageMessage | undefined {
  const stored = parse(payload);
  if (stored?.form !== form) return undefined;
  const { texts, rows: numbers, uses, uncountedUntilMs, lost } = stored;
  const rows: UsageRow[] = [];
  for (let start = 0; start + rowLength <= numbers.length; start += rowLength) {
    const own = uses?.[rows.length] ?? [];
    rows.push(
      own.length === 0 ? rowAt(numbers, start, texts) : { ...rowAt(numbers, start, texts), uses: usesAt(own, texts) },
    );
  }
  return { rows, uncountedUntilMs, lost };
}

/** Members by their places, in the order of `usageSums`: a loop over names takes several times as long. */
function rowAt(numbers: readonly number[], start: number, texts: readonly string[]): UsageRow {
  const sums = start + keyLength;
  return {
    client: textAt(texts, numbers[start]),
    tenant: textAt(texts, numbers[start + 1]),
    metric: textAt(texts, numbers[start + 2]),
    queryClass: queryClasses[numbers[start + 3] ?? 0] ?? "C",
    requests: Number(numbers[sums]),
    points: Number(numbers[sums + 1]),
    cachedPoints: Number(numbers[sums + 2]),
    bytes: Number(numbers[sums + 3]),
    estimate: Number(numbers[sums + 4]),
    cost: Number(numbers[sums + 5]),
  };
}

function usesAt(numbers: readonly number[], texts: readonly string[]): Map<string, number> {
  const uses = new Map<string, number>();
  for (let start = 0; start + 1 < numbers.length; start += 2)
    uses.set(textAt(texts, numbers[start]), Number(numbers[start + 1]));
  return uses;
}

function textAt(texts: readonly string[], place = 0): string {
  return texts[place] ?? "";
}

function parse(payload: Uint8Array): StoredForm | undefined {
  try {
    return JSON.parse(inflateRawSync(payload, { maxOutputLength: textBytesMax }).toString()) as StoredForm;
  } catch {
    return undefined;
  }
}
