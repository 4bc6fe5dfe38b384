/** Calls back when the signal is aborted, at once if it already is. Returns the function that removes the callback. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal?.aborted === true) callback();
  else signal?.addEventListener("abort", callback, { once: true });
  return () => signal?.removeEventListener("abort", callback);
}

/**
 * The result, unless the signal is aborted first. The work that produces the result continues.
 * @throws the signal's reason
 */
export async function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const forget = onAbort(signal, () => aborted.reject(signal.reason));
  try {
    return await Promise.race([result, aborted.promise]);
  } finally {
    forget();
  }
}

/**
 * The result, unless the time limit passes first. The work that produces it continues, and its error is ignored.
 * @throws the error that `late` returns
 */
export async function withinTime<T>(result: Promise<T>, limitMs: number, late: () => Error): Promise<T> {
  const passed = Promise.withResolvers<never>();
  const timer = setTimeout(() => passed.reject(late()), limitMs);
  try {
    return await Promise.race([result, passed.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits in a queue until its entry is called. An aborted entry leaves the queue at once, so that no place passes to it.
 * @throws the signal's reason if it is aborted first
 */
export async function waitInQueue(
  queue: { add(enter: () => void): unknown; delete(enter: () => void): unknown },
  signal?: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  queue.add(resolve);
  const forget = onAbort(signal, () => {
    queue.delete(resolve);
    reject(signal?.reason as Error);
  });
  try {
    await promise;
  } finally {
    forget();
  }
}
