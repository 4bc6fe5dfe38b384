import { createHash } from "node:crypto";
import { EventBudget } from "./event-budget.ts";
import { capBytes, mask } from "../client/kube-error.ts";
import { microTime } from "../micro-time.ts";
import { apiVersionOf, type KubeObject, type ResourceType } from "../client/resource.ts";

/** `events.k8s.io/v1` Event. Source: Kubernetes API reference, Event v1 events.k8s.io. */
export const eventType: ResourceType = { group: "events.k8s.io", version: "v1", kind: "Event", plural: "events" };

/** The object that an event is about. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for kinds without a namespace; their events go to `default`. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

/** An occurrence on an object, which `kubectl describe` shows. */
export interface Occurrence {
  readonly regarding: Regarding;
  readonly type: "Normal" | "Warning";
  /** Cause, as one CamelCase word. */
  readonly reason: string;
  /** Running action, as one CamelCase word. */
  readonly action: string;
  /** Text for users; masked and cut to 1 KiB. */
  readonly note: string;
}

/** The object that is written for an occurrence and its repetitions. */
export interface KubeEvent extends KubeObject {
  readonly eventTime: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly type: string;
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly regarding: Regarding;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

/** The reporting component. */
export interface Reporter {
  /** For example `heliograph.dev/operator`. */
  readonly controller: string;
  /** For example the pod's name. */
  readonly instance: string;
}

/** Monotonic and wall time of one moment. */
interface Moment {
  readonly nowMs: number;
  readonly wallMs: number;
}

/** The result for an occurrence, and its effect on others. */
interface Recorded {
  /**
   * `new`: its own event. `repeated`: one more of a series. `capped`: its object has too many events. `dropped`: too
   * many others wait to be written.
   */
  readonly result: "new" | "repeated" | "capped" | "dropped";
  /** Earlier occurrences that are dropped now to make room. */
  readonly evicted: number;
}

interface Series {
  readonly event: KubeEvent;
  count: number;
  writtenCount: number;
  lastWallMs: number;
  lastMs: number;
  writeAtMs: number;
  tries: number;
}

/** Source: Kubernetes API validation of events: `note` up to 1 kB, `reason` and `action` up to 128 characters. */
const noteBytesMax = 1024;
const wordCharsMax = 128;
const nameCharsMax = 200;
/** An occurrence this long after the last one is a new event. */
const seriesMs = 6 * 60_000;
/** Least time between two expiries; a scan for each occurrence would cost more than it frees. */
const expireMs = 1_000;
/** Least time between two writes of a growing series. */
const rewriteMs = 60_000;
const seriesMax = 1_000;
const writeTriesMax = 5;

/**
 * The rules of event reporting, without clock and I/O. Equal occurrences become one event that counts them. The number
 * of different events per object is limited, and so is all that is held.
 */
export class EventSeries {
  readonly #reporter: Reporter;
  readonly #series = new Map<string, Series>();
  readonly #budget = new EventBudget();
  #expireAtMs = Number.NEGATIVE_INFINITY;

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  /** Adds an occurrence. */
  add(occurrence: Occurrence, { nowMs, wallMs }: Moment): Recorded {
    this.#expire(nowMs);
    const shown = { ...occurrence, note: capBytes(mask(occurrence.note), noteBytesMax) };
    const key = seriesKey(shown);
    const known = this.#series.get(key);
    if (known !== undefined) {
      Object.assign(known, { count: known.count + 1, lastMs: nowMs, lastWallMs: wallMs });
      return { result: "repeated", evicted: 0 };
    }
    if (!this.#budget.take(occurrence.regarding.uid, occurrence.type, nowMs)) return { result: "capped", evicted: 0 };
    const evicted = this.#makeRoom(occurrence.type);
    if (evicted === undefined) return { result: "dropped", evicted: 0 };
    const event = eventOf(shown, this.#reporter, key, wallMs);
    this.#series.set(key, {
      event,
      count: 1,
      writtenCount: 0,
      lastWallMs: wallMs,
      lastMs: nowMs,
      writeAtMs: nowMs,
      tries: 0,
    });
    return { result: "new", evicted };
  }

  /** Keys of the due series, warnings first. */
  due(nowMs: number): readonly string[] {
    const due = [...this.#series].filter(([, one]) => isUnwritten(one) && one.writeAtMs <= nowMs);
    return due.toSorted(([, one], [, other]) => Number(isNormal(one)) - Number(isNormal(other))).map(([key]) => key);
  }

  /** Time of the next due write, or undefined. */
  nextDueMs(): number | undefined {
    const times = [...this.#series.values()].filter(isUnwritten).map(({ writeAtMs }) => writeAtMs);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** The event of a key, with its count. */
  event(key: string): { readonly event: KubeEvent; readonly count: number } | undefined {
    const series = this.#series.get(key);
    if (series === undefined) return undefined;
    const { event, count, lastWallMs } = series;
    if (count === 1) return { event, count };
    return { event: { ...event, series: { count, lastObservedTime: microTime(lastWallMs) } }, count };
  }

  /** Records a successful write of the event with this count. */
  written(key: string, count: number, nowMs: number): void {
    const series = this.#series.get(key);
    if (series !== undefined) Object.assign(series, { writtenCount: count, writeAtMs: nowMs + rewriteMs, tries: 0 });
  }

  /** Records a failed write. Returns false when no retry follows: not allowed, or too many tries. */
  failed(key: string, mayRetry: boolean, nowMs: number): boolean {
    const series = this.#series.get(key);
    if (series === undefined) return false;
    series.tries += 1;
    series.writeAtMs = nowMs + rewriteMs;
    if (mayRetry && series.tries < writeTriesMax) return true;
    this.#series.delete(key);
    return false;
  }

  #expire(nowMs: number): void {
    if (nowMs < this.#expireAtMs) return;
    this.#expireAtMs = nowMs + expireMs;
    for (const [key, series] of this.#series)
      if (!isUnwritten(series) && nowMs - series.lastMs >= seriesMs) this.#series.delete(key);
  }

  /** Evicts a series for a new one. Returns the occurrences that are lost; undefined when none may be evicted. */
  #makeRoom(type: Occurrence["type"]): number | undefined {
    if (this.#series.size < seriesMax) return 0;
    const costs = type === "Warning" ? costsForWarnings : costsForNormals;
    let cheapest: { readonly key: string; readonly cost: number; readonly lastMs: number } | undefined;
    for (const [key, series] of this.#series) {
      const cost = costs.indexOf(costOf(series));
      if (cost < 0 || (cheapest !== undefined && compare(cheapest, { cost, lastMs: series.lastMs }) <= 0)) continue;
      cheapest = { key, cost, lastMs: series.lastMs };
    }
    const victim = cheapest === undefined ? undefined : this.#series.get(cheapest.key);
    if (cheapest === undefined || victim === undefined) return undefined;
    this.#series.delete(cheapest.key);
    return victim.count - victim.writtenCount;
  }
}

/**
 * The loss of an eviction: none (all is written), the count of repetitions, or an event that was never written.
 */
type Cost = `${"written" | "counting" | "unwritten"} ${Occurrence["type"]}`;

/** Order of eviction. A Normal never replaces an unwritten Warning. */
const costsForNormals: readonly Cost[] = ["written Normal", "written Warning", "counting Normal"];
const costsForWarnings: readonly Cost[] = [...costsForNormals, "unwritten Normal", "counting Warning"];

function costOf(series: Series): Cost {
  const type = isNormal(series) ? "Normal" : "Warning";
  if (!isUnwritten(series)) return `written ${type}`;
  return series.writtenCount > 0 ? `counting ${type}` : `unwritten ${type}`;
}

function compare(
  one: { readonly cost: number; readonly lastMs: number },
  other: { readonly cost: number; readonly lastMs: number },
): number {
  return one.cost - other.cost || one.lastMs - other.lastMs;
}

function isNormal({ event }: Series): boolean {
  return event.type === "Normal";
}

function isUnwritten({ count, writtenCount }: Series): boolean {
  return count > writtenCount;
}

/** Key of equal occurrences: same object, reason, action and note. */
function seriesKey({ regarding, type, reason, action, note }: Occurrence): string {
  return JSON.stringify([
    regarding.uid,
    regarding.kind,
    regarding.namespace,
    regarding.name,
    type,
    reason,
    action,
    note,
  ]);
}

function eventOf(occurrence: Occurrence, reporter: Reporter, key: string, wallMs: number): KubeEvent {
  const { regarding, type, reason, action, note } = occurrence;
  const eventTime = microTime(wallMs);
  // Unique per series and process: two events of one name would conflict, since fields of an event never change.
  const suffix = createHash("sha256").update(`${key}\0${reporter.instance}\0${eventTime}`).digest("hex").slice(0, 16);
  return {
    apiVersion: apiVersionOf(eventType),
    kind: eventType.kind,
    metadata: {
      namespace: regarding.namespace ?? "default",
      name: `${regarding.name.slice(0, nameCharsMax)}.${suffix}`,
    },
    eventTime,
    reportingController: reporter.controller,
    reportingInstance: reporter.instance.slice(0, wordCharsMax),
    type,
    reason: reason.slice(0, wordCharsMax),
    action: action.slice(0, wordCharsMax),
    note,
    regarding,
  };
}
