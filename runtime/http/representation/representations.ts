// Representations of response bodies: media types, content codings, CSV, NDJSON and page links. No routes.
import { hash } from "node:crypto";
import { encodeBytes, type ContentCoding } from "./content-coding.ts";

/** Bytes of one body in one format and one coding. */
interface Representation {
  readonly bytes: Uint8Array;
  readonly coding: ContentCoding;
  /** Strong: equal tags are equal bytes. Source: RFC 9110 §8.8.3. */
  readonly etag: string;
}

/** Representations of cached bodies. Each is made once and lives as long as its body. */
export interface Representations {
  /** @param write the body in this format */
  of(
    body: object,
    format: string,
    coding: ContentCoding,
    write: () => Uint8Array | Promise<Uint8Array>,
  ): Promise<Representation>;
}

const tagLength = 22;

/** Creates an empty cache. */
export function createRepresentations(): Representations {
  const known = new WeakMap<object, Map<string, Promise<Representation>>>();
  const make = async (
    coding: ContentCoding,
    write: () => Uint8Array | Promise<Uint8Array>,
  ): Promise<Representation> => {
    const encoded = await encodeBytes(await write(), coding);
    return { ...encoded, etag: `"${hash("sha256", encoded.bytes, "base64url").slice(0, tagLength)}"` };
  };
  return {
    of(body, format, coding, write) {
      const own = known.get(body) ?? new Map<string, Promise<Representation>>();
      known.set(body, own);
      const key = `${format} ${coding}`;
      const made = own.get(key) ?? make(coding, write);
      own.set(key, made);
      return made;
    },
  };
}

interface TaggedRequest {
  readonly method?: string | undefined;
  readonly headers: { readonly "if-none-match"?: string | undefined };
}

/** True when `If-None-Match` of a GET or HEAD names these bytes. A POST gets them again. Source: RFC 9110 §13.1.2. */
export function hasBytes({ method, headers }: TaggedRequest, etag: string): boolean {
  const ifNoneMatch = headers["if-none-match"];
  if (ifNoneMatch === undefined || (method !== "GET" && method !== "HEAD")) return false;
  const tags = ifNoneMatch.split(",").map((tag) => tag.trim().replace(/^W\//u, ""));
  return tags.includes(etag) || tags.includes("*");
}
