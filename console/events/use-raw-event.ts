import type { AttemptRequest } from "../../api/histories.ts";
import { useEffect, useState } from "preact/hooks";
import { useSession } from "../api/session-context.ts";
import { rawMember } from "./raw-json.ts";

/** The bytes of an event as text; parsing would change digits, escapes and order. */
export interface RawEvent {
  /** Undefined while it is read, and if it cannot be shown. */
  readonly text: string | undefined;
  readonly isAbsent: boolean;
}

/** Reads an event as its producer sent it. @param path of the event's history */
export function useRawEvent(path: string): RawEvent {
  const { api } = useSession();
  const [raw, setRaw] = useState<RawEvent>({ text: undefined, isAbsent: false });
  useEffect(() => {
    const abort = new AbortController();
    const keep = (text: string | undefined): void => {
      if (!abort.signal.aborted) setRaw({ text, isAbsent: text === undefined });
    };
    api.readText(path, "application/json", abort.signal).then(
      (text) => keep(rawMember(text, "event")),
      () => keep(undefined),
    );
    return () => abort.abort();
  }, [api, path]);
  return raw;
}

/** The body of an attempt; checked against the digest of what was signed. */
export type BodyState =
  | { readonly state: "reading" | "different" | "unknown" }
  | { readonly state: "signed" | "unchecked"; readonly text: string };

/** Builds the body of an attempt and compares it with the digest. @param event undefined while it is read */
export function useSentBody(request: AttemptRequest, attempt: number, event: string | undefined): BodyState {
  const { body, body_sha256: digest } = request;
  const isEvent = isSentAsEvent(request);
  const [shown, setBody] = useState<BodyState>({ state: "reading" });
  useEffect(() => {
    const abort = new AbortController();
    const show = async (): Promise<void> => {
      const next = await sentBody({ body, digest, isEvent }, attempt, event);
      if (!abort.signal.aborted) setBody(next);
    };
    void show();
    return () => abort.abort();
  }, [body, digest, isEvent, attempt, event]);
  return shown;
}

/** The body that the server sent, or the event with the number of the attempt, if it has the digest of the attempt. */
export async function sentBody(
  { body, digest, isEvent }: ShownBody,
  attempt: number,
  event: string | undefined,
): Promise<BodyState> {
  if (digest === undefined) return { state: "unknown" };
  const text = body ?? (event === undefined ? undefined : numberedEvent(event, attempt));
  if (text === undefined) return { state: "reading" };
  const found = await sha256(text);
  if (found === undefined) return isEvent || body !== undefined ? { state: "unchecked", text } : { state: "different" };
  return found === digest ? { state: "signed", text } : { state: "different" };
}

/** What the server returns of a body. */
interface ShownBody {
  readonly body: string | undefined;
  readonly digest: string | undefined;
  /** By what the request says of itself. */
  readonly isEvent: boolean;
}

function isSentAsEvent({ headers, payload }: AttemptRequest): boolean {
  const type = headers.find(({ name }) => name === "Content-Type")?.value;
  return payload === undefined && type === "application/json";
}

const hexDigits = 16;

/** In hexadecimal; undefined over plain HTTP, where browsers compute no digests. */
async function sha256(text: string): Promise<string | undefined> {
  if (globalThis.crypto.subtle === undefined) return undefined;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(hexDigits).padStart(2, "0")).join("");
}

/** The event with the number of an attempt as its last member. */
export function numberedEvent(event: string, attempt: number): string {
  const close = event.lastIndexOf("}");
  const isEmpty = event.slice(0, close).trimEnd().endsWith("{");
  return `${event.slice(0, close)}${isEmpty ? "" : ","}"attempt":${attempt}${event.slice(close)}`;
}
