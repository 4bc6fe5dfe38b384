import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { ApiResponse, ApiChange } from "./client.ts";
import { isAbort, problemOfError, type Problem } from "./problem.ts";
import { useSession } from "./session-context.ts";

/** A change that a reader asks for, and what became of it. */
export interface Sending<Body> {
  readonly isSending: boolean;
  readonly problem: Problem | undefined;
  readonly response: ApiResponse<Body> | undefined;
  /**
   * Sends the change. A repeat after a failure carries the same key, so that one intent has one effect; a repeat after
   * a success is a new intent. Does nothing while one is under way. Resolves with the response; undefined on failure.
   */
  readonly send: (path: string, change: Omit<ApiChange, "idempotencyKey">) => Promise<ApiResponse<Body> | undefined>;
  /** Forgets the response and the problem. */
  readonly clear: () => void;
}

interface State {
  readonly isSending: boolean;
  readonly problem?: Problem;
  readonly response?: ApiResponse<unknown>;
}

interface Intent {
  readonly text: string;
  readonly key: string;
}

/** Changes something by the API. The response is not waited for once the component unmounts; the change continues. */
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
    async (path: string, change: Omit<ApiChange, "idempotencyKey">): Promise<ApiResponse<Body> | undefined> => {
      if (isBusy.current) return undefined;
      isBusy.current = true;
      setState({ isSending: true });
      const text = JSON.stringify([path, change]);
      if (intent.current?.text !== text) intent.current = { text, key: randomKey() };
      try {
        const response = await api.send<Body>(path, { ...change, idempotencyKey: intent.current.key });
        intent.current = undefined;
        if (isHere.current) setState({ isSending: false, response });
        return response;
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
    response: state.response as ApiResponse<Body> | undefined,
    send,
    clear,
  };
}

/** An idempotency key. Pages of plain HTTP, other than those of this machine, have no `randomUUID`. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
