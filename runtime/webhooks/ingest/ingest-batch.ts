import { batchEventsMax } from "../../../api/events.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { EventCaller, EventSource, Ingest, IngestResponse } from "./ingest.ts";

/** The result of one event of a batch. */
export type BatchItemResult = { readonly response: IngestResponse } | { readonly error: ApiError };

/** Events of a batch that are stored concurrently. */
const atOnceMax = 32;

const byte = {
  openBracket: 0x5b,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
  quote: 0x22,
  backslash: 0x5c,
  comma: 0x2c,
} as const;
const spaces: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** True when a body is a list of events, not a single one. */
export function isBatch(body: Uint8Array): boolean {
  return body[skipSpaces(body, 0)] === byte.openBracket;
}

/**
 * Splits a JSON list into the bytes of its elements, without the white space around them. The elements are not parsed.
 *
 * @throws ApiError `invalid_json` for a body that is not a list, `invalid_request` for an empty or too long list
 */
export function splitBatch(body: Uint8Array): readonly Uint8Array[] {
  const items: Uint8Array[] = [];
  let position = skipSpaces(body, 0) + 1;
  for (;;) {
    const start = skipSpaces(body, position);
    const end = elementEnd(body, start);
    const item = body.subarray(start, lastOf(body, start, end));
    const isEmptyList = items.length === 0 && item.length === 0 && body[end] === byte.closeBracket;
    if (isEmptyList || items.length === batchEventsMax)
      throw new ApiError("invalid_request", `A batch must have 1 to ${batchEventsMax} events`);
    items.push(item);
    if (body[end] === byte.closeBracket && skipSpaces(body, end + 1) === body.length) return items;
    if (body[end] !== byte.comma) throw new ApiError("invalid_json", "A batch must be a JSON array of events");
    position = end + 1;
  }
}

/** The events of a body in the default format: one, or a list. @throws ApiError as {@link splitBatch} */
export function nativeSource(body: Uint8Array): EventSource | readonly EventSource[] {
  return isBatch(body) ? splitBatch(body) : body;
}

/** True for the events of a batch. */
export function isSourceList(source: EventSource | readonly EventSource[]): source is readonly EventSource[] {
  return Array.isArray(source);
}

/** Stores each event of a batch. The results have the order of the events. */
export async function ingestBatch(
  ingest: Ingest,
  items: readonly EventSource[],
  caller: EventCaller,
): Promise<readonly BatchItemResult[]> {
  const results: BatchItemResult[] = [];
  for (let start = 0; start < items.length; start += atOnceMax) {
    results.push(
      ...(await Promise.all(items.slice(start, start + atOnceMax).map((item) => ingestOne(ingest, item, caller)))),
    );
  }
  return results;
}

async function ingestOne(ingest: Ingest, item: EventSource, caller: EventCaller): Promise<BatchItemResult> {
  try {
    return { response: await ingest(item, caller) };
  } catch (error) {
    if (error instanceof ApiError) return { error };
    throw error;
  }
}

/** Index of the end of an element: the first comma or closing bracket outside of strings and nested values. */
function elementEnd(body: Uint8Array, start: number): number {
  let depth = 0;
  let position = start;
  while (position < body.length) {
    const code = body[position];
    if (code === byte.quote) position = stringEnd(body, position);
    else if (depth === 0 && (code === byte.comma || code === byte.closeBracket)) return position;
    else depth += depthChange(code);
    position += 1;
  }
  return body.length;
}

function depthChange(code: number | undefined): number {
  if (code === byte.openBrace || code === byte.openBracket) return 1;
  return code === byte.closeBrace || code === byte.closeBracket ? -1 : 0;
}

/** Index of the quote that ends the string at `start`, or of the end of the body. */
function stringEnd(body: Uint8Array, start: number): number {
  let position = start + 1;
  while (position < body.length && body[position] !== byte.quote) position += body[position] === byte.backslash ? 2 : 1;
  return position;
}

function skipSpaces(body: Uint8Array, start: number): number {
  let position = start;
  while (spaces.has(body[position])) position += 1;
  return position;
}

function lastOf(body: Uint8Array, start: number, end: number): number {
  let position = Math.min(end, body.length);
  while (position > start && spaces.has(body[position - 1])) position -= 1;
  return position;
}
