import { setTimeout as sleep } from "node:timers/promises";
import { pino, type DestinationStream } from "pino";

/** Buffered destination of log lines. */
export interface LogDestination extends DestinationStream {
  /** Level of the line that is about to be written; set by pino. */
  lastLevel?: number;
  /** Resolves when everything is written, or after one second when the reader is stuck; lines are then lost. */
  flushed(): Promise<void>;
}

/** A destination of bytes; its types know lines of text only. */
type ByteDestination = Omit<ReturnType<typeof pino.destination>, "write"> & { write(line: Buffer): boolean };

const standardError = 2;
/** Lines wait so long for others to be written with them; errors do not wait. */
const gatherMs = 20;
const gatheredBytes = 8_192;
/** A system writes so many bytes to a pipe as a whole, beside other processes. Source: POSIX, PIPE_BUF on Linux. */
const wholeBytesMax = 4_096;
/** Bound on lines in memory while the reader is stuck; later lines are dropped. */
const heldBytesMax = 16 * 1024 * 1024;
const errorLevel = 50;
const flushedMsMax = 1_000;
/** A reader is stuck that has taken nothing for so long. */
const stuckMs = 5_000;

/**
 * Writes log lines to standard error in batches. A synchronous write per line costs more than making the line, and
 * would block the program when the reader is stuck. The rest is written when the process exits. `kill -9` loses the
 * lines of the last {@link gatherMs} milliseconds. With a stuck reader the process ends by SIGKILL, because an exit
 * would wait for the write.
 * @param isShared true when other processes write to the same standard error
 */
export function createLogDestination(isShared: boolean): LogDestination {
  const gathered = pino.destination({
    dest: standardError,
    sync: false,
    minLength: gatheredBytes,
    maxLength: heldBytesMax,
    // With strings, each line would be copied together with all lines that wait.
    contentMode: "buffer",
    ...(isShared ? { minLength: wholeBytesMax / 2, maxWrite: wholeBytesMax } : {}),
  }) as unknown as ByteDestination;
  let timer: NodeJS.Timeout | undefined;
  let waitingSinceMs: number | undefined;
  let heldBytes = 0;
  let isEnding = false;
  gathered.on("write", (bytes: number) => {
    heldBytes -= bytes;
    waitingSinceMs = heldBytes > 0 ? performance.now() : undefined;
  });
  gathered.on("drop", (line: Buffer) => (heldBytes -= line.length));
  // A flush during a write does nothing, and one takes no more than `maxWrite`: what is left is flushed again.
  gathered.on("drain", () => {
    if (heldBytes <= 0) return;
    // The timer keeps no process alive.
    if (isEnding) flush();
    else flushSoon();
  });
  process.prependListener("exit", () => {
    if (waitingSinceMs !== undefined && performance.now() - waitingSinceMs > stuckMs)
      process.kill(process.pid, "SIGKILL");
  });
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    gathered.flush();
  };
  const flushSoon = (): void => {
    timer ??= setTimeout(flush, gatherMs).unref();
  };
  const destination: LogDestination & { readonly [pino.symbols.needsMetadataGsym]: true } = {
    [pino.symbols.needsMetadataGsym]: true,
    write: (text) => {
      const line = Buffer.from(text);
      heldBytes += line.length;
      gathered.write(line);
      waitingSinceMs ??= performance.now();
      if ((destination.lastLevel ?? 0) >= errorLevel) flush();
      else flushSoon();
    },
    flushed: async () => {
      const written = new Promise<true>((resolve) => {
        const look = (): unknown => heldBytes <= 0 && resolve(true);
        gathered.on("write", look);
        look();
        isEnding = true;
        flush();
      });
      const isWritten = await Promise.race([written, sleep(flushedMsMax, false, { ref: false })]);
      if (!isWritten) waitingSinceMs = Number.NEGATIVE_INFINITY;
    },
  };
  return destination;
}
