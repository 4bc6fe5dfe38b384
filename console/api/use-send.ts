import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { Answer, Change } from "./client.ts";
import { isAbort, problemOfError, type Problem } from "./problem.ts";
import { useSession } from "./session-context.ts";

/** A change that a reader asks for, and what became of it. */
export interface Sending<Body> {
  readonly isSending: boolean;
  readonly problem: Problem | undefined;
  readonly answer: Answer<Body> | undefined;
  /**
   * Sends the change. A repeat after a failure carries the same key, so that one intent has one effect; a repeat after
   * a success is a new intent. Does nothing while one is under way. Resolves with the answer; undefined on failure.
   */
  readonly send: (path: string, change: Omit<Change, "idempotencyKey">) => Promise<Answer<Body> | undefined>;
  /** Forgets the answer and the problem. */
  readonly clear: () => void;
}

interface State {
  readonly isSending: boolean;
  readonly problem?: Problem;
  readonly answer?: Answer<unknown>;
}

interface Intent {
  readonly text: string;
  readonly key: string;
}

/** Changes something by the API. The answer is not waited for once the part leaves; the change goes on. */
export function useSend<Body>(): Sending<Body> {
  const { api } = useSession();
  const [state, setState] = useState<State>({ isSending: false });
  const intent = useRef<Intent | undefined>(undefined);
  const isBusy = useRef(false);
  const isHere = useRef(true);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  const send = useCallback(
    async (path: string, change: Omit<Change, "idempotencyKey">): Promise<Answer<Body> | undefined> => {
      if (isBusy.current) return undefined;
      isBusy.current = true;
      setState({ isSending: true });
      const text = JSON.stringify([path, change]);
      if (intent.current?.text !== text) intent.current = { text, key: crypto.randomUUID() };
      try {
        const answer = await api.send<Body>(path, { ...change, idempotencyKey: intent.current.key });
        intent.current = undefined;
        if (isHere.current) setState({ isSending: false, answer });
        return answer;
      } catch (error) {
        if (isHere.current)
          setState({ isSending: false, ...(isAbort(error) ? {} : { problem: problemOfError(error) }) });
        return undefined;
      } finally {
        isBusy.current = false;
      }
    },
    [api],
  );
  const clear = useCallback(() => setState({ isSending: false }), []);
  return {
    isSending: state.isSending,
    problem: state.problem,
    answer: state.answer as Answer<Body> | undefined,
    send,
    clear,
  };
}
