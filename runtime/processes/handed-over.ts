import type { ChildProcess } from "node:child_process";

/** A connection that the supervisor has accepted. */
interface Handle {
  close(): void;
}

/** Messages of Node's cluster, of which these members are read. */
interface ClusterMessage {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

/**
 * Keeps the connections that are on their way to a process. Node forgets them when the process ends before it takes
 * them: they would stay open, and their callers would wait without end.
 * @returns a function that closes those that the process has not taken
 */
export function keepHandedOver(child: ChildProcess): () => void {
  const onTheWay = new Map<number, Handle>();
  const send = child.send.bind(child) as (...parts: readonly unknown[]) => boolean;
  const keep = (...parts: readonly unknown[]): boolean => {
    const [message, handle] = parts as [ClusterMessage, Handle | undefined];
    if (message.act === "newconn" && message.seq !== undefined && handle !== undefined)
      onTheWay.set(message.seq, handle);
    return send(...parts);
  };
  Object.assign(child, { send: keep });
  child.on("internalMessage", ({ ack }: ClusterMessage) => ack !== undefined && onTheWay.delete(ack));
  return () => {
    for (const handle of onTheWay.values()) handle.close();
    onTheWay.clear();
  };
}
