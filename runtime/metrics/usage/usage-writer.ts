import { hourMs, type TakenUsage, type UsageHour, type UsageRow, UsageRows } from "../admission/usage-counts.ts";
import { encodeUsage, type UsagePlace, type UsageStore } from "./usage-message.ts";

/** Most rows of all pods in an hour. Beyond it, clients and metrics are counted together. */
export const hourRowsMax = 100_000;
/** Rows of a message, which holds 1 MiB at most: a row of the longest names has 700 bytes before compression. */
const chunkRowsMax = 500;
/** Most rows in memory. In an outage of NATS, the oldest hours beyond it are lost. */
const heldRowsMax = 200_000;
/** Most hours in memory, with those that are stored. */
const heldHoursMax = 26;
/** Most hours of which losses are distinguished. */
const lostHoursMax = 48;
const attemptsMax = 3;

interface Chunk {
  readonly rows: UsageRow[];
  /** Sequence of its message; 0 before the first one. */
  seq: number;
  /** Number of changes, and of those that its message has. */
  changes: number;
  savedChanges: number;
  /** Requests that its message does not have. */
  unsaved: number;
}

interface HeldHour {
  /** Name of the writer in its places. An hour that is held again, since a clock stepped back, gets another one. */
  readonly writer: string;
  readonly rows: UsageRows;
  readonly chunks: Chunk[];
  readonly chunkOf: Map<UsageRow, Chunk>;
  /** Losses that were noted in this hour, by the hour of their requests. */
  readonly lost: Map<UsageHour, number>;
}

interface WriterOptions {
  readonly store: UsageStore;
  /** Unique name of this run of this pod: the sums of an earlier run stay. One token of a subject. */
  readonly writer: string;
  /** Most rows that this pod counts in an hour. */
  readonly rowsMax: () => number;
  /** Receives requests whose usage is lost. */
  readonly lost: (requests: number) => void;
}

/**
 * Keeps the sums of this run of the pod for each hour, and stores them in chunks. Only this writer writes its messages,
 * each of which replaces the one before it, so that no request is counted twice however often it is written. A write
 * expects the sequence of the message that it replaces, so that a delayed one cannot restore old sums.
 */
export class UsageWriter {
  readonly #options: WriterOptions;
  readonly #hours = new Map<UsageHour, HeldHour>();
  #uncountedUntilMs = 0;
  #writes = 0;
  #opened = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Requests whose usage is not stored yet. */
  get unsaved(): number {
    let sum = 0;
    for (const { chunks } of this.#hours.values()) for (const chunk of chunks) sum += chunk.unsaved;
    return sum;
  }

  /** Notes that a live pod does not count. */
  noteUncounted(untilMs: number): void {
    this.#uncountedUntilMs = untilMs;
    this.#about().changes += 1;
  }

  /** Adds counts to the sums of their hours. */
  add({ hours, dropped }: Pick<TakenUsage, "hours" | "dropped">): void {
    // Each hour has a message of each live pod, also without usage.
    this.#about();
    for (const [hour, taken] of hours) {
      const held = this.#hourOf(hour);
      for (const row of taken.values()) {
        const own = held.rows.add(row, row, this.#options.rowsMax());
        const chunk = chunkOf(held, own);
        chunk.changes += 1;
        chunk.unsaved += row.requests;
      }
    }
    if (dropped > 0) this.#lose(this.#hour(), dropped);
    this.#forget();
  }

  /** Stores what changed, the oldest hour first. @throws Error when NATS does not respond; the rest remains changed */
  async flush(): Promise<void> {
    for (const [hour, held] of [...this.#hours].toSorted(([one], [other]) => one - other)) {
      for (const [index, chunk] of held.chunks.entries())
        if (isChanged(chunk)) await this.#save({ hour, writer: held.writer, chunk: index }, chunk, held.lost);
    }
  }

  async #save(place: UsagePlace, chunk: Chunk, lost: HeldHour["lost"]): Promise<void> {
    const { store, writer } = this.#options;
    const isFirst = place.chunk === 0;
    for (let attempt = 1; attempt <= attemptsMax && isChanged(chunk); attempt += 1) {
      const payload = encodeUsage({
        rows: chunk.rows,
        uncountedUntilMs: isFirst ? this.#uncountedUntilMs : 0,
        lost: isFirst ? [...lost] : [],
      });
      this.#writes += 1;
      // More may be added while the write is under way.
      const { changes, unsaved } = chunk;
      const seq = await store.write(place, payload, { afterSeq: chunk.seq, id: `${writer}-${this.#writes}` });
      if (seq === undefined) await this.#findSeq(place, chunk);
      else Object.assign(chunk, { seq, savedChanges: changes, unsaved: chunk.unsaved - unsaved });
    }
  }

  /** An earlier write was stored although its reply was lost, or the stream was replaced by an empty one. */
  async #findSeq(place: UsagePlace, chunk: Chunk): Promise<void> {
    chunk.seq = await this.#options.store.lastSeq(place);
    if (chunk.seq > 0) return;
    for (const { chunks } of this.#hours.values())
      for (const one of chunks) Object.assign(one, { seq: 0, changes: one.changes + 1 });
  }

  #hour(): UsageHour {
    return Math.floor(this.#options.store.now() / hourMs);
  }

  /** The chunk of the current hour that has everything besides rows. */
  #about(): Chunk {
    const { chunks } = this.#hourOf(this.#hour());
    return chunks[0] as Chunk;
  }

  #hourOf(hour: UsageHour): HeldHour {
    const known = this.#hours.get(hour);
    if (known !== undefined) return known;
    this.#opened += 1;
    const writer = `${this.#options.writer}-${this.#opened}`;
    const held = {
      writer,
      rows: new UsageRows(),
      chunks: [newChunk()],
      chunkOf: new Map<UsageRow, Chunk>(),
      lost: new Map(),
    };
    this.#hours.set(hour, held);
    return held;
  }

  /** Forgets stored hours that are over, then the oldest ones beyond the bounds. */
  #forget(): void {
    const current = this.#hour();
    const oldestFirst = [...this.#hours].toSorted(([one], [other]) => one - other);
    let rows = oldestFirst.reduce((sum, [, held]) => sum + held.rows.size, 0);
    for (const [hour, held] of oldestFirst) {
      const isStored = !held.chunks.some(isChanged);
      const isBeyond = rows > heldRowsMax || this.#hours.size > heldHoursMax;
      const isRecent = Math.abs(hour - current) <= 1;
      if (hour === current || (!isBeyond && (isRecent || !isStored))) continue;
      rows -= held.rows.size;
      this.#hours.delete(hour);
      this.#lose(
        hour,
        held.chunks.reduce((sum, { unsaved }) => sum + unsaved, 0),
      );
    }
  }

  #lose(hour: UsageHour, requests: number): void {
    if (requests === 0) return;
    this.#options.lost(requests);
    const { lost } = this.#hourOf(this.#hour());
    const isKnown = lost.has(hour) || lost.size < lostHoursMax;
    // Beyond the bound, the last hour stands for the others.
    const counted = isKnown ? hour : ([...lost.keys()].at(-1) ?? hour);
    lost.set(counted, (lost.get(counted) ?? 0) + requests);
    this.#about().changes += 1;
  }
}

function chunkOf({ chunks, chunkOf: known }: HeldHour, row: UsageRow): Chunk {
  const found = known.get(row);
  if (found !== undefined) return found;
  let chunk = chunks.at(-1) as Chunk;
  if (chunk.rows.length >= chunkRowsMax) {
    chunk = newChunk();
    chunks.push(chunk);
  }
  chunk.rows.push(row);
  known.set(row, chunk);
  return chunk;
}

function newChunk(): Chunk {
  return { rows: [], seq: 0, changes: 1, savedChanges: 0, unsaved: 0 };
}

function isChanged({ changes, savedChanges }: Chunk): boolean {
  return changes !== savedChanges;
}
