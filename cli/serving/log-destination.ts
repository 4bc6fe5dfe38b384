import { write, writeSync } from "node:fs";
import { pino, type DestinationStream } from "pino";

/** Buffered destination of log lines. */
export interface LogDestination extends DestinationStream {
  /** Level of the line that is about to be written; set by pino. */
  lastLevel?: number;
  /** Resolves when everything is written, or after one second when the reader is stuck; lines are then lost. */
  flushed(): Promise<void>;
}

const standardError = 2;
/** Lines wait so long for others to be written with them; errors do not wait. */
const gatherMs = 20;
/** Most bytes of one write. */
const batchBytesMax = 65_536;
/** Bound on lines in memory while the reader is stuck; later lines are dropped. */
const heldBytesMax = 16 * 1024 * 1024;
const errorLevel = 50;
const flushedMsMax = 1_000;
/** A reader is stuck that has taken nothing for so long. */
const stuckMs = 5_000;
/** Pause after a reader took nothing, and during an exit. */
const [busyPauseMs, exitPauseMs] = [100, 10];

/**
 * Writes log lines to standard error in batches. A synchronous write per line costs more than making the line, and
 * would block the program when the reader is stuck. The rest is written when the process exits. `kill -9` loses the
 * lines of the last {@link gatherMs} milliseconds. With a stuck reader the process ends by SIGKILL, because an exit
 * would wait for the write. Without a reader, all lines are dropped.
 */
export function createLogDestination(): LogDestination {
  const lines = new HeldLines();
  let timer: NodeJS.Timeout | undefined;
  /** Set while a reader rests that took nothing. The timers keep no process alive. */
  let rest: NodeJS.Timeout | undefined;
  let isWriting = false;
  /** True while a caller waits until everything is written. */
  let isFlushing = false;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (isWriting || rest !== undefined || lines.bytes === 0) return;
    isWriting = true;
    const batch = lines.next();
    write(standardError, batch, 0, batch.length, null, (error, written) => {
      isWriting = false;
      if (error === null) lines.take(written);
      else if (isBusy(error)) rest = setTimeout(resume, busyPauseMs).unref();
      else lines.drop();
      flushSoon();
    });
  };
  const resume = (): void => {
    rest = undefined;
    flush();
  };
  const flushSoon = (): void => {
    if (isFlushing || lines.bytes >= batchBytesMax) flush();
    else if (lines.bytes > 0) timer ??= setTimeout(flush, gatherMs).unref();
  };
  process.prependListener("exit", () => {
    if (lines.waitedMs() > stuckMs) process.kill(process.pid, "SIGKILL");
    // The system still finishes the write under way.
    if (isWriting) lines.take(lines.next().length);
    writeRest(lines);
  });
  const destination: LogDestination & { readonly [pino.symbols.needsMetadataGsym]: true } = {
    [pino.symbols.needsMetadataGsym]: true,
    write: (line) => {
      lines.add(Buffer.from(line));
      if ((destination.lastLevel ?? 0) >= errorLevel) flush();
      else flushSoon();
    },
    flushed: async () => {
      isFlushing = true;
      flush();
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const patience = setTimeout(resolve, flushedMsMax, false);
      lines.whenEmpty(() => resolve(true));
      if (!(await promise)) lines.giveUp();
      clearTimeout(patience);
      isFlushing = false;
    },
  };
  return destination;
}

const secondMs = 1_000;

/** Writes the `time` of a line as pino does. It formats each second once. @param now Unix milliseconds */
export function createLineTime(now: () => number = Date.now): () => string {
  let [second, text] = [Number.NaN, ""];
  return () => {
    const ms = now();
    const own = Math.floor(ms / secondMs);
    if (own !== second) [second, text] = [own, new Date(own * secondMs).toISOString().slice(0, -"000Z".length)];
    return `,"time":"${text}${String(ms - own * secondMs).padStart(3, "0")}Z"`;
  };
}

/** Lines in memory, up to {@link heldBytesMax}. */
class HeldLines {
  #lines: Buffer[] = [];
  /** The batch that is written now, without what is written already. */
  #batch: Buffer = Buffer.alloc(0);
  #bytes = 0;
  /** When the reader took something, or the first line came. Undefined without lines. */
  #waitingSinceMs: number | undefined;
  #onEmpty: () => void = () => undefined;

  get bytes(): number {
    return this.#bytes;
  }

  add(line: Buffer): void {
    if (this.#bytes + line.length > heldBytesMax) return;
    this.#lines.push(line);
    this.#bytes += line.length;
    this.#waitingSinceMs ??= performance.now();
  }

  /** The batch to write next: whole lines, at least one. The same until it is taken. */
  next(): Buffer {
    if (this.#batch.length > 0) return this.#batch;
    let [count, bytes] = [0, 0];
    for (const { length } of this.#lines) {
      if (count > 0 && bytes + length > batchBytesMax) break;
      count += 1;
      bytes += length;
    }
    this.#batch = Buffer.concat(this.#lines.splice(0, count), bytes);
    return this.#batch;
  }

  /** Removes what was written of the batch. */
  take(bytes: number): void {
    this.#batch = this.#batch.subarray(bytes);
    this.#bytes -= bytes;
    this.#waitingSinceMs = this.#bytes > 0 ? performance.now() : undefined;
    if (this.#bytes === 0) this.#onEmpty();
  }

  /** Removes everything. */
  drop(): void {
    this.#lines = [];
    this.take(this.#bytes);
  }

  whenEmpty(onEmpty: () => void): void {
    this.#onEmpty = onEmpty;
    if (this.#bytes === 0) onEmpty();
  }

  /** Milliseconds since the reader took something; 0 without lines. */
  waitedMs(): number {
    return this.#waitingSinceMs === undefined ? 0 : performance.now() - this.#waitingSinceMs;
  }

  /** Treats the reader as stuck. */
  giveUp(): void {
    this.#waitingSinceMs = Number.NEGATIVE_INFINITY;
  }
}

/** Writes all lines before it returns, unless the reader is gone or takes nothing for a second. */
function writeRest(lines: HeldLines): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  let tookMs = performance.now();
  while (lines.bytes > 0 && performance.now() - tookMs < flushedMsMax) {
    try {
      lines.take(writeSync(standardError, lines.next()));
      tookMs = performance.now();
    } catch (error) {
      if (!isBusy(error as NodeJS.ErrnoException)) return;
      Atomics.wait(never, 0, 0, exitPauseMs);
    }
  }
}

function isBusy({ code }: NodeJS.ErrnoException): boolean {
  return code === "EAGAIN" || code === "EBUSY";
}
