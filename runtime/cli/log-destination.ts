import { setTimeout as sleep } from "node:timers/promises";
import { pino, type DestinationStream } from "pino";

/** Buffered destination of log lines. */
export interface LogDestination extends DestinationStream {
  /** Level of the line that is about to be written; set by pino. */
  lastLevel?: number;
  /** Resolves when everything is written, or after one second when the reader is stuck. */
  flushed(): Promise<void>;
}

const standardError = 2;
/** Lines wait so long for others to be written with them; errors do not wait. */
const gatherMs = 20;
const gatheredBytes = 8_192;
/** Bound on lines in memory while the reader is stuck; later lines are dropped. */
const heldBytesMax = 16 * 1024 * 1024;
const errorLevel = 50;
const flushedMsMax = 1_000;

/**
 * Writes log lines to standard error in batches. A synchronous write per line costs more than making the line, and
 * would block the program when the reader is stuck. The rest is written when the process exits. `kill -9` loses the
 * lines of the last {@link gatherMs} milliseconds.
 */
export function createLogDestination(): LogDestination {
  const gathered = pino.destination({
    dest: standardError,
    sync: false,
    minLength: gatheredBytes,
    maxLength: heldBytesMax,
  });
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    gathered.flush();
  };
  const destination: LogDestination & { readonly [pino.symbols.needsMetadataGsym]: true } = {
    [pino.symbols.needsMetadataGsym]: true,
    write: (line) => {
      gathered.write(line);
      if ((destination.lastLevel ?? 0) >= errorLevel) flush();
      else timer ??= setTimeout(flush, gatherMs).unref();
    },
    flushed: async () => {
      const written = new Promise<void>((resolve) => gathered.flush(() => resolve()));
      await Promise.race([written, sleep(flushedMsMax, undefined, { ref: false })]);
    },
  };
  return destination;
}
