import { useEffect, useRef, useState } from "preact/hooks";
import { isAbort, problemOfError, type Problem } from "./problem.ts";
import { useSession } from "./session-context.ts";
import type { ListPage } from "./types.ts";

/** A list that is followed by long polls. */
export interface Following<Item> {
  /** The path of the next poll, with `order=asc`, `wait` and this cursor. */
  readonly pathAt: (cursor: string) => string;
  /** Where to begin; undefined follows nothing. A new one begins anew. */
  readonly from: string | undefined;
  /** Gets the items of each response that has some, oldest first. */
  readonly onItems: (items: readonly Item[]) => void;
}

/** `failing`: the newest poll failed, and another one follows. `off`: nothing is followed, or the page is hidden. */
export interface Follow {
  readonly state: "off" | "on" | "failing";
  readonly problem: Problem | undefined;
}

const firstPauseMs = 1_000;
const pauseMsMax = 30_000;
/** Between two answers with items, so that a flood of events is read in few requests. */
const floodPauseMs = 500;

/** Follows a list with one poll at a time, while the page is seen. It ends when the part leaves. */
export function useFollow<Item>({ pathAt, from, onItems }: Following<Item>): Follow {
  const { api } = useSession();
  const [follow, setFollow] = useState<Follow>({ state: "off", problem: undefined });
  const [isSeen, setSeen] = useState(document.visibilityState !== "hidden");
  const use = useRef({ pathAt, onItems });
  use.current = { pathAt, onItems };
  const cursor = useRef(from);
  useEffect(() => {
    const onSeen = (): void => setSeen(document.visibilityState !== "hidden");
    document.addEventListener("visibilitychange", onSeen);
    return () => document.removeEventListener("visibilitychange", onSeen);
  }, []);
  useEffect(() => {
    cursor.current = from;
  }, [from]);
  useEffect(() => {
    if (from === undefined || !isSeen) {
      setFollow({ state: "off", problem: undefined });
      return undefined;
    }
    const abort = new AbortController();
    const poll = async (): Promise<number> => {
      const path = use.current.pathAt(cursor.current ?? from);
      const { body } = await api.read<ListPage<Item>>(path, abort.signal);
      if (abort.signal.aborted) return 0;
      cursor.current = body.meta.cursor ?? cursor.current;
      setFollow({ state: "on", problem: undefined });
      if (body.data.length > 0) use.current.onItems(body.data);
      return floodPauseMs;
    };
    void runPolls(poll, abort.signal, (problem) => setFollow({ state: "failing", problem }));
    return () => abort.abort();
  }, [api, from, isSeen]);
  return follow;
}

async function runPolls(
  poll: () => Promise<number>,
  signal: AbortSignal,
  onProblem: (problem: Problem) => void,
): Promise<void> {
  let pauseMs = firstPauseMs;
  while (!signal.aborted) {
    try {
      await pause(await poll(), signal);
      pauseMs = firstPauseMs;
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      const problem = problemOfError(error);
      onProblem(problem);
      await pause(Math.max(pauseMs, (problem.retryAfterSeconds ?? 0) * 1_000), signal);
      pauseMs = Math.min(pauseMs * 2, pauseMsMax);
    }
  }
}

/** Resolves after a time, or at once when the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
