import { setTimeout as sleep } from "node:timers/promises";
import { rounds, type Bench } from "../harness/bench.ts";
import type { Measured } from "../harness/figures.ts";
import { deliver, fastEndpoints, withProgram, type Running, type WebhookStage } from "./stage.ts";

/** What an open page asks for, and the pause after each answer. A page that follows begins with the newest event. */
interface OpenPage {
  readonly path: string;
  readonly pauseMs: number;
  readonly follows?: boolean;
}

const partner = "/webhooks/partners/default/p0";
/** Five readers with four pages each, as the console reads them. */
const pages: readonly OpenPage[] = Array.from({ length: 5 }).flatMap(() => [
  { path: "/webhooks/events?order=desc", pauseMs: 500, follows: true },
  { path: partner, pauseMs: 10_000 },
  { path: `${partner}/stats`, pauseMs: 10_000 },
  { path: "/webhooks/partners", pauseMs: 30_000 },
]);
const responseMsMax = 30_000;

interface Page {
  readonly data?: readonly unknown[];
  readonly meta?: { readonly cursor: string | null; readonly newest?: string };
}

/** Deliveries a second while 20 pages of the console are open, against none, in turn. */
export async function consolePages(stage: WebhookStage, bench: Bench): Promise<readonly Measured[]> {
  const count = bench.isSmall ? 100 : 30_000;
  return withProgram(stage, bench, fastEndpoints, async (running) => {
    await deliver(running, bench.isSmall ? 50 : 5_000);
    const turns = await rounds(bench.rounds, async (round) => {
      // Later deliveries have more stored before them.
      const before = round % 2 === 0 ? await deliver(running, count) : undefined;
      const open = await openPages(running);
      const watched = await deliver(running, count);
      const answers = await open.close();
      return { watched: watched.rate, alone: (before ?? (await deliver(running, count))).rate, answers };
    });
    return [
      {
        name: `${pages.length} pages of the console are open, ${bench.pods} pods`,
        unit: "deliveries/s",
        values: turns.map(({ watched }) => watched),
        reference: { name: "none is open", values: turns.map(({ alone }) => alone) },
        bar: { of: "ratio", atLeast: 0.97 },
        note: `answers to the pages ${turns.map(({ answers }) => answers).join(", ")}`,
      },
    ];
  });
}

/**
 * Opens the pages, until each had its first answer. `close` answers how often the server answered them.
 *
 * @throws Error when one was refused
 */
async function openPages({ site, subject }: Running): Promise<{ close(): Promise<number> }> {
  const headers = { authorization: `Bearer ${await site.token("console")}` };
  const [url = ""] = subject.urls;
  const ending = new AbortController();
  let answers = 0;
  const read = async (path: string): Promise<Page> => {
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(responseMsMax)]);
    const answer = await fetch(`${url}${path}`, { headers, signal });
    if (!answer.ok) throw new Error(`${path} was refused: ${answer.status} ${await answer.text()}`);
    answers += 1;
    return (await answer.json()) as Page;
  };
  const show = async ({ path, pauseMs, follows = false }: OpenPage, shownOnce: () => void): Promise<void> => {
    let cursor: string | undefined;
    while (!ending.signal.aborted) {
      const isFirst = cursor === undefined;
      const { meta } = await read(isFirst ? path : `/webhooks/events?order=asc&wait=25&cursor=${cursor ?? ""}`);
      shownOnce();
      if (follows) cursor = (isFirst ? meta?.newest : meta?.cursor) ?? cursor;
      await sleep(pauseMs, undefined, { signal: ending.signal });
    }
  };
  const opened = pages.map((page) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    return { first: promise, end: show(page, resolve) };
  });
  const shown = Promise.allSettled(opened.map(({ end }) => end));
  await Promise.all(opened.map(({ first, end }) => Promise.race([first, end])));
  return {
    close: async () => {
      ending.abort();
      for (const one of await shown) if (one.status === "rejected" && !isAbort(one.reason)) throw one.reason as Error;
      return answers;
    },
  };
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
