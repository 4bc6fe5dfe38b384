import { Refusal } from "../../errors/refusal.ts";
import type { EventCaller, Ingest, IngestResponse } from "./ingest.ts";

/** What became of one event of a batch, at its place in the batch. */
export type BatchItemResult = { readonly answer: IngestResponse } | { readonly refusal: Refusal };

/** Most events of one batch. */
export const batchEventsMax = 500;

/** Events of one batch that are stored at once. */
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

/** Whether a body is a list of events rather than one. */
export function isBatch(body: Uint8Array): boolean {
  return body[skipSpaces(body, 0)] === byte.openBracket;
}

/**
 * The elements of a JSON list as the bytes they came in, without the white space around them. Whether an element is
 * JSON is not judged here.
 *
 * @throws Refusal `invalid_json` for what is no list, `invalid_request` for an empty or too long one
 */
export function splitBatch(body: Uint8Array): readonly Uint8Array[] {
  const items: Uint8Array[] = [];
  let position = skipSpaces(body, 0) + 1;
  for (;;) {
    const start = skipSpaces(body, position);
    const end = elementEnd(body, start);
    const item = body.subarray(start, lastOf(body, start, end));
    const isEmptyList = items.length === 0 && item.length === 0 && body[end] === byte.closeBracket;
    if (isEmptyList || items.length === batchEventsMax) {
      throw new Refusal("invalid_request", `A batch has 1 to ${batchEventsMax} events`);
    }
    items.push(item);
    if (body[end] === byte.closeBracket && skipSpaces(body, end + 1) === body.length) {
      return items;
    }
    if (body[end] !== byte.comma) {
      throw new Refusal("invalid_json", "A batch is one JSON list of events");
    }
    position = end + 1;
  }
}

/** Stores the events of a batch, each by itself; verdicts stand in the order of the events. */
export async function ingestBatch(
  ingest: Ingest,
  items: readonly Uint8Array[],
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

async function ingestOne(ingest: Ingest, item: Uint8Array, caller: EventCaller): Promise<BatchItemResult> {
  try {
    return { answer: await ingest(item, caller) };
  } catch (error) {
    if (error instanceof Refusal) {
      return { refusal: error };
    }
    throw error;
  }
}

/** Where an element ends: at the first comma or closing bracket that is in no text and in nothing that was opened. */
function elementEnd(body: Uint8Array, start: number): number {
  let depth = 0;
  let position = start;
  while (position < body.length) {
    const code = body[position];
    if (code === byte.quote) {
      position = textEnd(body, position);
    } else if (depth === 0 && (code === byte.comma || code === byte.closeBracket)) {
      return position;
    } else {
      depth += depthChange(code);
    }
    position += 1;
  }
  return body.length;
}

function depthChange(code: number | undefined): number {
  if (code === byte.openBrace || code === byte.openBracket) {
    return 1;
  }
  return code === byte.closeBrace || code === byte.closeBracket ? -1 : 0;
}

/** Index of the quote that ends the text which begins at `start`, or of the end of the body. */
function textEnd(body: Uint8Array, start: number): number {
  let position = start + 1;
  while (position < body.length && body[position] !== byte.quote) {
    position += body[position] === byte.backslash ? 2 : 1;
  }
  return position;
}

function skipSpaces(body: Uint8Array, start: number): number {
  let position = start;
  while (spaces.has(body[position])) {
    position += 1;
  }
  return position;
}

function lastOf(body: Uint8Array, start: number, end: number): number {
  let position = Math.min(end, body.length);
  while (position > start && spaces.has(body[position - 1])) {
    position -= 1;
  }
  return position;
}
