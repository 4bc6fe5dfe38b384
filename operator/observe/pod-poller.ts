import { type Agent, request } from "undici";
import { configzWaitSecondsMax } from "../../crds/configz.ts";
import { type BackoffOptions, backoffMs } from "../../kube/backoff.ts";
import { type Clock, pauseUntilAborted } from "../../limits/clock.ts";
import { describeError } from "../../kube/client/kube-error.ts";
import type { PodAddress } from "./endpoints.ts";
import { parseReport, type ParsedReport } from "./parse-report.ts";
import type { PodReport } from "./rollout.ts";

interface PodPollerOptions {
  readonly address: PodAddress;
  /** Keeps the connections to all pods. */
  readonly agent: Agent;
  /** Bearer token for the pod; undefined before there is one. */
  readonly token: () => string | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onReport: (report: PodReport) => void;
  /** Called when the pod stops responding, and again when the error changes. */
  readonly onSilence: (why: string) => void;
}

/** Well below the bound, so that a dead pod is noticed. */
const waitSeconds = Math.min(20, configzWaitSecondsMax);
/** Time for a response beyond the requested wait. */
const responseMsMax = 5_000;
/** Bound on a report: every resource of a large installation with a long error. */
const responseBytesMax = 16 * 1024 * 1024;
const backoff: BackoffOptions = { baseMs: 100, maxMs: 5_000, jitter: 0.3 };
/** Least pause between two polls, for a report that changes all the time. */
const pauseMs = 20;

/** Polls the report of one pod with long polls until it is stopped. */
export class PodPoller {
  readonly #options: PodPollerOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: PodPollerOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random, onReport, onSilence } = this.#options;
    const { signal } = this.#stopping;
    let version: string | undefined;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const parsed = await this.#poll(version);
        if (signal.aborted) return;
        if (failures > 0 || parsed.version !== version) onReport(parsed.report);
        version = parsed.version;
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        onSilence(describeError(error));
      }
      await pauseUntilAborted(clock, failures === 0 ? pauseMs : backoffMs(failures, backoff, random), signal);
    }
  }

  async #poll(version: string | undefined): Promise<ParsedReport> {
    const { address, agent, token, clock } = this.#options;
    const query = version === undefined ? "" : `?wait=${waitSeconds}&after=${encodeURIComponent(version)}`;
    const limit = new AbortController();
    const cancel = clock.after((version === undefined ? 0 : waitSeconds * 1000) + responseMsMax, () =>
      limit.abort(new Error("no response in time")),
    );
    try {
      const { statusCode, body } = await request(`${address.url}/configz${query}`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${token() ?? ""}`, accept: "application/json" },
        signal: AbortSignal.any([this.#stopping.signal, limit.signal]),
      });
      const text = await readText(body);
      if (statusCode !== 200) throw new Error(`/configz responded with ${statusCode}`);
      return parseReport(JSON.parse(text));
    } finally {
      cancel();
    }
  }
}

async function readText(body: AsyncIterable<unknown>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const part = chunk as Uint8Array;
    parts.push(part);
    bytes += part.length;
    if (bytes > responseBytesMax) throw new Error(`the response exceeds ${responseBytesMax} bytes`);
  }
  return Buffer.concat(parts, bytes).toString("utf8");
}
