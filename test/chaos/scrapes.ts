import { setTimeout as sleep } from "node:timers/promises";
import type { LastScrape } from "./ledger.ts";

/** Samples of a pod's metrics, as Prometheus would have them. */
export interface Scrapes {
  /** The last samples of each life of the pod: the sum of a metric over the series with these labels. */
  last(metric: string, labels?: Readonly<Record<string, string>>): readonly LastScrape[];
  /** Begins another life: the process was killed. */
  ended(atMs: number): void;
  /** Scrapes once more, now. @throws Error when the pod does not respond */
  scrape(): Promise<void>;
  stop(): Promise<void>;
}

interface Life {
  atMs: number;
  text: string;
  endedMs?: number;
}

const everyMs = 1_000;
const timeoutMs = 2_000;

/** Scrapes an address about every second. */
export function startScrapes(url: string): Scrapes {
  const lives: Life[] = [];
  let current: Life | undefined;
  const scrape = async (): Promise<void> => {
    const life = current;
    const atMs = Date.now();
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${url} returned ${response.status}`);
    // A response of a life that ended meanwhile is still its last one.
    if (life !== undefined && life !== current) return;
    if (current === undefined) lives.push((current = { atMs, text }));
    else Object.assign(current, { atMs, text });
  };
  const stopping = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await scrape().catch(() => undefined);
      await sleep(everyMs, undefined, { ref: false });
    }
  };
  const ended = loop();
  return {
    last: (metric, labels = {}) =>
      lives.map(({ atMs, text, endedMs }) => {
        const value = sumOf(text, metric, labels);
        return endedMs === undefined ? { atMs, value } : { atMs, value, endedMs };
      }),
    ended: (atMs) => {
      if (current !== undefined) current.endedMs = atMs;
      current = undefined;
    },
    scrape,
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

/** The sum of the samples of a metric, in the text format of Prometheus, whose labels contain all of these. */
export function sumOf(text: string, metric: string, labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
    .filter((line) => wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(/ (?<value>\S+)$/u.exec(line)?.groups?.["value"]), 0);
}
