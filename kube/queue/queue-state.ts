import { DueHeap } from "./due-heap.ts";

/** `edit`: a change to reconcile soon. `resync`: a periodic check without a change. */
export type Priority = "edit" | "resync";

/** A key that a worker took. */
export interface TakenKey {
  readonly key: string;
  readonly priority: Priority;
  /** Its wait for a worker, in milliseconds. */
  readonly queuedMs: number;
}

interface Ready {
  readonly priority: Priority;
  readonly sinceMs: number;
}

interface Running {
  readonly sinceMs: number;
  /** The key was added again while a worker held it. */
  readonly again: Ready | undefined;
}

interface Scheduled {
  readonly priority: Priority;
  readonly dueMs: number;
}

/** After this number of consecutive edits one waiting resync runs, so that resyncs never starve. */
const editsInRowMax = 32;
/** The heap is rebuilt when it holds this many more entries than scheduled keys. */
const staleDueMax = 1_024;

/**
 * The rules of a work queue, without timers and workers.
 *
 * ```
 *            add                 next              finish
 *   (absent) ───► ready ────────────────► running ────────► (absent)
 *       └─ schedule ─► scheduled ─release─► ready    └─ added meanwhile ─► ready
 * ```
 *
 * A key is at most once ready and at most once running, and never ready while it is running. So no two workers hold one
 * key, and any number of additions is one reconcile.
 */
export class QueueState {
  readonly #ready: Readonly<Record<Priority, Map<string, number>>> = { edit: new Map(), resync: new Map() };
  readonly #running = new Map<string, Running>();
  readonly #scheduled = new Map<string, Scheduled>();
  #due = new DueHeap();
  readonly #keysMax: number;
  #editsInRow = 0;

  /** @param keysMax bound on keys; new keys beyond it are rejected */
  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  /** Keys waiting for a worker. */
  depth(priority: Priority): number {
    return this.#ready[priority].size;
  }

  /** Keys that workers hold, with the time of taking. */
  *running(): Generator<readonly [key: string, sinceMs: number], void> {
    for (const [key, { sinceMs }] of this.#running) yield [key, sinceMs];
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /**
   * Adds a key. `known`: it waits already. `full`: rejected. An edit upgrades a waiting resync of its key.
   */
  add(key: string, priority: Priority, nowMs: number): "added" | "known" | "full" {
    const running = this.#running.get(key);
    if (running !== undefined) return this.#addRunning(key, running, priority, nowMs);
    if (this.#ready.edit.has(key)) return "known";
    const sinceMs = this.#ready.resync.get(key);
    if (sinceMs === undefined && !this.#scheduled.has(key) && this.#isFull()) return "full";
    if (sinceMs !== undefined && priority === "resync") return "known";
    this.#ready.resync.delete(key);
    this.#ready[priority].set(key, sinceMs ?? nowMs);
    return sinceMs === undefined ? "added" : "known";
  }

  /** Adds a key at a later time. The earlier of two times counts. Returns false when rejected. */
  schedule(key: string, priority: Priority, dueMs: number): boolean {
    const before = this.#scheduled.get(key);
    if (before !== undefined && before.dueMs <= dueMs) return true;
    if (before === undefined && !this.#running.has(key) && this.#isFull()) return false;
    this.#scheduled.set(key, { priority, dueMs });
    this.#due.push({ key, dueMs });
    if (this.#due.size > this.#scheduled.size + staleDueMax) this.#rebuildDue();
    return true;
  }

  /** Makes the scheduled ones of these keys due. */
  hasten(keys: Iterable<string>, nowMs: number): void {
    for (const key of keys) {
      const scheduled = this.#scheduled.get(key);
      if (scheduled !== undefined) this.schedule(key, scheduled.priority, nowMs);
    }
  }

  /** Time at which the next scheduled key is due. */
  nextDueMs(): number | undefined {
    this.#dropStale();
    return this.#due.peek()?.dueMs;
  }

  /** Makes due keys ready. Returns the number of added keys. */
  release(nowMs: number): number {
    let added = 0;
    for (let dueMs = this.nextDueMs(); dueMs !== undefined && dueMs <= nowMs; dueMs = this.nextDueMs()) {
      const key = this.#due.pop()?.key ?? "";
      const { priority } = this.#scheduled.get(key) ?? { priority: "edit" };
      if (this.add(key, priority, nowMs) === "added") added += 1;
      this.#scheduled.delete(key);
    }
    return added;
  }

  /** Takes the next key: edits first, the oldest first, with a share for resyncs. */
  next(nowMs: number): TakenKey | undefined {
    const priority = this.#turn();
    const first = this.#ready[priority].entries().next();
    if (first.done === true) return undefined;
    const [key, sinceMs] = first.value;
    this.#ready[priority].delete(key);
    this.#running.set(key, { sinceMs: nowMs, again: undefined });
    this.#editsInRow = priority === "edit" ? this.#editsInRow + 1 : 0;
    return { key, priority, queuedMs: nowMs - sinceMs };
  }

  /** Takes a key back from its worker. Returns the time it was held, or undefined when no worker held it. */
  finish(key: string, nowMs: number): number | undefined {
    const running = this.#running.get(key);
    if (running === undefined) return undefined;
    this.#running.delete(key);
    if (running.again !== undefined) this.#ready[running.again.priority].set(key, running.again.sinceMs);
    return nowMs - running.sinceMs;
  }

  /** Removes all scheduled keys. */
  clearScheduled(): void {
    this.#scheduled.clear();
    this.#due = new DueHeap();
  }

  /** Removes all waiting keys and repeated additions of running keys. Returns the number of waiting keys. */
  clearReady(): number {
    const dropped = this.depth("edit") + this.depth("resync");
    this.#ready.edit.clear();
    this.#ready.resync.clear();
    for (const [key, { sinceMs }] of this.#running) this.#running.set(key, { sinceMs, again: undefined });
    return dropped;
  }

  #addRunning(key: string, running: Running, priority: Priority, nowMs: number): "added" | "known" {
    const { again, sinceMs } = running;
    const upgraded = again === undefined || priority === "edit" ? priority : again.priority;
    this.#running.set(key, { sinceMs, again: { priority: upgraded, sinceMs: again?.sinceMs ?? nowMs } });
    return again === undefined ? "added" : "known";
  }

  #turn(): Priority {
    if (this.depth("edit") === 0) return "resync";
    return this.depth("resync") > 0 && this.#editsInRow >= editsInRowMax ? "resync" : "edit";
  }

  #isFull(): boolean {
    return this.depth("edit") + this.depth("resync") + this.#running.size + this.#scheduled.size >= this.#keysMax;
  }

  /** Removes entries whose key was rescheduled or released. */
  #dropStale(): void {
    for (let first = this.#due.peek(); first !== undefined; first = this.#due.peek()) {
      if (this.#scheduled.get(first.key)?.dueMs === first.dueMs) return;
      this.#due.pop();
    }
  }

  #rebuildDue(): void {
    this.#due = new DueHeap();
    for (const [key, { dueMs }] of this.#scheduled) this.#due.push({ key, dueMs });
  }
}
