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

/** The body of an attempt: the event with the number of the attempt as its last member. */
export function sentBody(event: string, attempt: number): string {
  const close = event.lastIndexOf("}");
  const isEmpty = event.slice(0, close).trimEnd().endsWith("{");
  return `${event.slice(0, close)}${isEmpty ? "" : ","}"attempt":${attempt}${event.slice(close)}`;
}
