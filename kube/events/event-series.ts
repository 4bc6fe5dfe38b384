import { createHash } from "node:crypto";
import { EventBudget } from "./event-budget.ts";
import { capBytes, mask } from "../client/mask.ts";
import { microTime } from "../micro-time.ts";
import { type KubeObject, type ResourceType, apiVersionOf } from "../client/resource.ts";

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

/** Something that happened to an object, for whoever describes it. */
export interface Occurrence {
  readonly regarding: Regarding;
  readonly type: "Normal" | "Warning";
  /** Why, as one CamelCase word. */
  readonly reason: string;
  /** What was being done, as one CamelCase word. */
  readonly action: string;
  /** For people; masked and cut to 1 KiB before it leaves. */
  readonly note: string;
}

/** What is written for an occurrence and its repetitions. */
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

/** Who reports. */
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

/** What became of an occurrence, and of others because of it. */
interface Recorded {
  /**
   * Its own event, one more of a series, or nothing: `capped`, since its object has too many, or `dropped`, since too
   * many others wait to be written.
   */
  readonly result: "new" | "repeated" | "capped" | "dropped";
  /** Occurrences that were taken in before and are dropped now, to make room. */
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
/** An occurrence so long after the last one is a new event. */
const seriesMs = 6 * 60_000;
/** Looking at all of them for each occurrence would cost more than what it frees. */
const expireMs = 1_000;
/** A growing series is written again at most so often. */
const rewriteMs = 60_000;
const seriesMax = 1_000;
const writeTriesMax = 5;

/**
 * The rules of reporting events, without time and I/O: equal occurrences become one event that counts them, an object
 * cannot flood the server with different ones, and everything held is bounded.
 */
export class EventSeries {
  readonly #reporter: Reporter;
  readonly #series = new Map<string, Series>();
  readonly #budget = new EventBudget();
  #expireAtMs = Number.NEGATIVE_INFINITY;

  constructor(reporter: Reporter) {
    this.#reporter = reporter;
  }

  /** Takes an occurrence in. */
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

  /** Keys of what is to be written now, warnings first. */
  due(nowMs: number): readonly string[] {
    const due = [...this.#series].filter(([, one]) => isUnwritten(one) && one.writeAtMs <= nowMs);
    return due.toSorted(([, one], [, other]) => Number(isNormal(one)) - Number(isNormal(other))).map(([key]) => key);
  }

  /** When something is to be written next, or undefined. */
  nextDueMs(): number | undefined {
    const times = [...this.#series.values()].filter(isUnwritten).map(({ writeAtMs }) => writeAtMs);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** What to write for a key, with the count it stands for. */
  event(key: string): { readonly event: KubeEvent; readonly count: number } | undefined {
    const series = this.#series.get(key);
    if (series === undefined) return undefined;
    const { event, count, lastWallMs } = series;
    if (count === 1) return { event, count };
    return { event: { ...event, series: { count, lastObservedTime: microTime(lastWallMs) } }, count };
  }

  /** It was written as it was when it counted so many. */
  written(key: string, count: number, nowMs: number): void {
    const series = this.#series.get(key);
    if (series !== undefined) Object.assign(series, { writtenCount: count, writeAtMs: nowMs + rewriteMs, tries: 0 });
  }

  /** Writing failed. False when it is given up: the server will not have it, or was tried often enough. */
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
    for (const [key, series] of this.#series) {
      if (!isUnwritten(series) && nowMs - series.lastMs >= seriesMs) this.#series.delete(key);
    }
  }

  /** Occurrences that a new series costs; undefined when it is to stay out itself. */
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
 * What is lost with a series: nothing that is not written, the count of its repetitions, or an event that nobody saw
 * yet.
 */
type Cost = `${"written" | "counting" | "unwritten"} ${Occurrence["type"]}`;

/** What makes room, the first of these first. A Normal never takes the place of a Warning that is not written. */
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

/** Equal occurrences are about the same object and say the same; two notes are two events. */
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
  // Unique per series and process: the fields of an event never change, so that two of one name would clash.
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
