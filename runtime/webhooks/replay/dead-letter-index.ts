import { createSingleFlight } from "../../../limits/bounded-map.ts";
import type { DeadLettersState, DeadLettersStream } from "../../nats/streams/dead-letters-stream.ts";
import { parseDeadLetter, parseDeadLetterHead, type DeadLetterAbout } from "../records/dead-letter-record.ts";
import { DeadLetterKinds, rowOf, type DeadLetterRow } from "./dead-letter-rows.ts";

/** The dead letters that a pod knows at one time. */
export interface KnownDeadLetters {
  /** In the order of their sequences. */
  readonly rows: readonly DeadLetterRow[];
  /** False when the stream holds more, older ones, or when this pod could not read all. */
  readonly isWhole: boolean;
  /** Sequence up to which the stream was read. */
  readonly lastSeq: number;
}

/**
 * Subjects, times and tenants of the dead letters, in the memory of a pod. JetStream counts messages by subject, which
 * holds no tenant, and reads them in one direction only.
 */
export interface DeadLetterIndex {
  /** Brings the index up to date. Concurrent callers share the requests. @throws NoReplyError, Error of the client */
  read(): Promise<KnownDeadLetters>;
}

type Reads = Pick<DeadLettersStream, "state" | "heads" | "removed" | "scan">;

/** Rows of the newest dead letters, some 76 bytes each. */
const rowsMaxDefault = 100_000;
/** Removed dead letters that one request lists, some 8 bytes each. Beyond, all heads are read again. */
const removedMax = 100_000;
const triesMax = 3;
/** Dead letters of earlier versions that one update reads whole, and the size of a batch. */
const describedMax = 1_024;
const describedAtOnceMax = 64;
const describedMsMax = 1_000;

/** Creates an empty index. The first read fills it. @param rowsMax bound on its rows */
export function createDeadLetterIndex(stream: Reads, rowsMax = rowsMaxDefault): DeadLetterIndex {
  const index = new Index(stream, rowsMax);
  const once = createSingleFlight<KnownDeadLetters>();
  return { read: () => once("read", () => index.read()) };
}

class Index {
  readonly #stream: Reads;
  readonly #rowsMax: number;
  #rows: DeadLetterRow[] = [];
  #kinds = new DeadLetterKinds();
  /** The state of the stream to which the rows were brought. */
  #state: DeadLettersState | undefined;

  constructor(stream: Reads, rowsMax: number) {
    this.#stream = stream;
    this.#rowsMax = rowsMax;
  }

  async read(): Promise<KnownDeadLetters> {
    let isWhole = false;
    for (let tries = 0; tries < triesMax && !isWhole; tries += 1) {
      const state = await this.#stream.state();
      await this.#follow(state);
      const later = this.#rows.length - 1 - this.#rows.findLastIndex(({ seq }) => seq <= state.lastSeq);
      isWhole = this.#rows.length - later >= state.messages;
      // What is older than the bound allows does not come by another try.
      if (state.lastSeq - state.firstSeq >= this.#rowsMax) break;
    }
    await this.#describe();
    return { rows: this.#rows, isWhole, lastSeq: this.#state?.lastSeq ?? 0 };
  }

  async #follow(state: DeadLettersState): Promise<void> {
    if (this.#state !== undefined && isOther(this.#state, state)) this.#forget();
    const before = this.#state;
    const { lastSeq, messages } = state;
    const knownSeq = this.#rows.at(-1)?.seq ?? 0;
    const isSame = before?.lastSeq === lastSeq && this.#rows.length === messages;
    if (!isSame && lastSeq > knownSeq) await this.#append(Math.max(knownSeq, lastSeq - this.#rowsMax) + 1);
    if (before !== undefined) await this.#removeOld(before, state);
    this.#bound();
    this.#state = state;
  }

  async #removeOld(before: DeadLettersState, state: DeadLettersState): Promise<void> {
    if (before.firstSeq !== state.firstSeq) this.#keep(({ seq }) => seq >= state.firstSeq);
    if (before.removed !== state.removed) await this.#removeGone(state);
  }

  /** Callers may hold the rows, so that a longer list takes their place. */
  async #append(fromSeq: number): Promise<void> {
    const rows = [...this.#rows];
    await this.#stream.heads(fromSeq, (message) => {
      const head = parseDeadLetterHead(message);
      if (head !== undefined) rows.push(rowOf(head, this.#kinds));
    });
    this.#rows = rows;
  }

  async #removeGone({ removed, lastSeq }: DeadLettersState): Promise<void> {
    if (removed > removedMax) {
      this.#forget();
      await this.#append(Math.max(0, lastSeq - this.#rowsMax) + 1);
      return;
    }
    const gone = new Set(removed === 0 ? [] : await this.#stream.removed());
    this.#keep(({ seq }) => !gone.has(seq));
  }

  #keep(isKept: (row: DeadLetterRow) => boolean): void {
    this.#rows = this.#rows.filter(isKept);
  }

  /** Reads what heads of earlier versions lack from the bodies of their dead letters, the newest first. */
  async #describe(): Promise<void> {
    const endMs = performance.now() + describedMsMax;
    for (let read = 0; read < describedMax && performance.now() < endMs;) {
      const unknown = this.#rows.filter(({ kind }) => isUnknown(kind)).slice(-describedAtOnceMax);
      const [first] = unknown;
      if (first === undefined) return;
      const messages = await this.#stream.scan(first.seq, describedAtOnceMax);
      const about = new Map(messages.map(({ seq, data }) => [seq, aboutOf(data)]));
      // A message that was removed meanwhile leaves with the next update.
      if (!unknown.some(({ seq }) => about.has(seq))) return;
      this.#rows = this.#rows.map((row) => {
        const found = isUnknown(row.kind) ? about.get(row.seq) : undefined;
        return found === undefined ? row : { ...row, kind: this.#kinds.of({ ...row.kind, about: found }) };
      });
      read += messages.length;
    }
  }

  #forget(): void {
    this.#rows = [];
    this.#kinds = new DeadLetterKinds();
    this.#state = undefined;
  }

  /** Drops the oldest rows beyond the bound, and kinds that no row has any more. */
  #bound(): void {
    if (this.#rows.length > this.#rowsMax) this.#rows = this.#rows.slice(-this.#rowsMax);
    if (this.#kinds.size <= this.#rowsMax) return;
    this.#kinds = new DeadLetterKinds();
    this.#rows = this.#rows.map((row) => ({ ...row, kind: this.#kinds.of(row.kind) }));
  }
}

/** True when the stream was made again, or emptied. */
function isOther(before: DeadLettersState, state: DeadLettersState): boolean {
  return before.created !== state.created || state.lastSeq < before.lastSeq;
}

function isUnknown({ about }: DeadLetterRow["kind"]): boolean {
  return about === undefined || (about !== null && about.type === undefined);
}

/** Null for the dead letter of an unreadable message. */
function aboutOf(data: Uint8Array): DeadLetterAbout | null {
  const deadLetter = parseDeadLetter(data);
  if (deadLetter === undefined) return null;
  const { tenant, type, partnerName } = deadLetter;
  return { tenant, type, label: `${partnerName.namespace}/${partnerName.name}` };
}
