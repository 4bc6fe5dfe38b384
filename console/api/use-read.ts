import type { RegionState } from "../../api/queries.ts";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ApiResponse } from "./client.ts";
import { isAbort, problemOfError, type Problem } from "./problem.ts";
import { useSession } from "./session-context.ts";

/** What a part knows of the response that it shows. */
export interface ReadState<Body> {
  /** The newest answer; kept while another one is read, and when that fails. */
  readonly data: Body | undefined;
  /** Why the newest attempt failed. */
  readonly problem: Problem | undefined;
  /** True while a request is under way. */
  readonly isReading: boolean;
  /** True when `data` belongs to another path, or an attempt after it failed: show it dimmed. */
  readonly isStale: boolean;
  /** When `data` arrived, Unix milliseconds. */
  readonly atMs: number | undefined;
  readonly headers: Headers | undefined;
  /** Regions without their data in a 206 response; empty otherwise. */
  readonly missing: readonly RegionState[];
  /** Asks again now. */
  readonly refresh: () => void;
}

export interface ReadOptions {
  /** Asks again after this time, while the page is seen. @default never */
  readonly everySeconds?: number;
}

interface State {
  readonly path?: string;
  readonly response?: ApiResponse<unknown>;
  readonly problem?: Problem;
  readonly isReading: boolean;
}

/**
 * Reads a path of the API, such as `/webhooks/partners?limit=50`, and again when it changes. The request ends when the
 * part leaves or the path changes. An undefined path reads nothing.
 */
export function useRead<Body>(path: string | undefined, { everySeconds }: ReadOptions = {}): ReadState<Body> {
  const { api } = useSession();
  const [state, setState] = useState<State>({ isReading: path !== undefined });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (path === undefined) {
      setState({ isReading: false });
      return undefined;
    }
    const abort = new AbortController();
    const known = api.known<unknown>(path);
    setState((before) => readingState(before, path, known));
    api.read<unknown>(path, abort.signal).then(
      (response) => abort.signal.aborted || setState({ path, response, isReading: false }),
      (error: unknown) => {
        if (abort.signal.aborted || isAbort(error)) return;
        setState((before) => ({ ...before, problem: problemOfError(error), isReading: false }));
      },
    );
    return () => abort.abort();
  }, [api, path, turn]);
  useRepeat(everySeconds, path !== undefined && !state.isReading, () => setTurn((before) => before + 1));
  const refresh = useCallback(() => setTurn((before) => before + 1), []);
  return useMemo(() => readOf<Body>(state, path, refresh), [state, path, refresh]);
}

/**
 * A known answer to the same path is shown at once. One to other parameters of it stays until then, dimmed; one of
 * another thing never does.
 */
function readingState(before: State, path: string, known: ApiResponse<unknown> | undefined): State {
  const own = before.path === path ? before.response : known;
  const isSameThing = before.path?.split("?", 1)[0] === path.split("?", 1)[0];
  const response = own ?? (isSameThing ? before.response : undefined);
  const shownPath = own === undefined ? before.path : path;
  return {
    isReading: true,
    ...(response === undefined ? {} : { response }),
    ...(shownPath === undefined ? {} : { path: shownPath }),
    ...(before.path === path && before.problem !== undefined ? { problem: before.problem } : {}),
  };
}

function readOf<Body>(state: State, path: string | undefined, refresh: () => void): ReadState<Body> {
  const { response, problem, isReading } = state;
  return {
    data: response?.body as Body | undefined,
    problem,
    isReading,
    isStale: response !== undefined && (problem !== undefined || state.path !== path),
    atMs: response?.atMs,
    headers: response?.headers,
    missing: response?.status === 206 ? missingRegions(response.body) : [],
    refresh,
  };
}

/** Regions of a body without all their data. */
export function missingRegions(body: unknown): readonly RegionState[] {
  const { meta } = (body ?? {}) as { readonly meta?: { readonly regions?: readonly RegionState[] } };
  return (meta?.regions ?? []).filter(({ state }) => state !== "ok");
}

/**
 * Calls once after each time that something becomes ready, so that a slow request is never followed by a pile of
 * others. A hidden page waits, and calls at once when it is visible again.
 */
export function useRepeat(everySeconds: number | undefined, isReady: boolean, repeat: () => void): void {
  const call = useRef(repeat);
  call.current = repeat;
  useEffect(() => {
    if (everySeconds === undefined || !isReady) return undefined;
    let isDue = false;
    const onSeen = (): void => {
      if (isDue && document.visibilityState !== "hidden") call.current();
    };
    const timer = setTimeout(() => {
      isDue = true;
      onSeen();
    }, everySeconds * 1_000);
    document.addEventListener("visibilitychange", onSeen);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onSeen);
    };
  }, [everySeconds, isReady]);
}
