import { useEffect, useRef } from "preact/hooks";
import type { Session } from "./session.ts";
import { changeSession, clearSession, isInForce, readSession } from "./session-store.ts";

/** What tabs of this browser tell each other. `left`: a person signed out in one. `entered`: one signed in. */
type TabMessage = "left" | "entered";

const channelName = "heliograph-console";
const checkMs = 15_000;
const useStoredMs = 30_000;

/** One for the tab: a channel does not receive what it sends itself. */
let channel: BroadcastChannel | undefined;

function openChannel(): BroadcastChannel {
  channel ??= new BroadcastChannel(channelName);
  return channel;
}

/** Tells the other tabs. */
export function tellTabs(message: TabMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
  openChannel().postMessage(message);
}

/** Calls for each message of another tab. */
export function useTabMessages(onMessage: (message: TabMessage) => void): void {
  const call = useRef(onMessage);
  call.current = onMessage;
  useEffect(() => {
    const hear = ({ data }: MessageEvent<unknown>): void => {
      if (data === "left" || data === "entered") call.current(data);
    };
    openChannel().addEventListener("message", hear);
    return () => openChannel().removeEventListener("message", hear);
  }, []);
}

/**
 * Ends a session 30 minutes after a person used the console last, in any tab that shares it, and 12 hours after signing
 * in. Requests that pages send by themselves are no use.
 */
export function useSessionEnd({ id }: Session, onEnd: () => void): void {
  const call = useRef(onEnd);
  call.current = onEnd;
  useEffect(() => {
    const own = { startedMs: Date.now(), usedMs: Date.now(), endsMs: Number.POSITIVE_INFINITY };
    const use = (): void => {
      const nowMs = Date.now();
      const isStoredDue = nowMs - own.usedMs >= useStoredMs;
      own.usedMs = isStoredDue || id === undefined ? nowMs : own.usedMs;
      if (isStoredDue && id !== undefined) void storeUse(id, nowMs);
    };
    const check = async (): Promise<void> => {
      const isOver = id === undefined ? !isInForce(own, Date.now()) : (await readSession(Date.now()))?.id !== id;
      if (isOver) call.current();
    };
    const timer = setInterval(() => void check(), checkMs);
    const names = ["pointerdown", "keydown"] as const;
    for (const name of names) window.addEventListener(name, use);
    return () => {
      clearInterval(timer);
      for (const name of names) window.removeEventListener(name, use);
    };
  }, [id]);
}

/** A session that has ended does not start again by being used. */
async function storeUse(id: string, usedMs: number): Promise<void> {
  const stored = await readSession(usedMs);
  if (stored?.id === id) await changeSession(id, { usedMs });
}

/** Deletes the session of this browser and tells the other tabs. */
export async function leaveEverywhere(session: Session): Promise<void> {
  await session.end();
  await clearSession();
  tellTabs("left");
}
