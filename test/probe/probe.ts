import type { ProbeResponse, ResponseBody } from "./responses.ts";
import { createAsker, type Asker } from "./ask.ts";
import { schemaVersionOf } from "./catalog.ts";
import { createFindings, type Findings } from "./findings.ts";
import type { Installation } from "./installation.ts";
import { createHitTally, healthFaults, type HitTally } from "./checks/check-health.ts";
import { createQuotaWatch } from "./checks/check-quota.ts";
import { compareValues } from "./checks/compare-values.ts";
import {
  cacheDuring,
  catalogVersionsOf,
  plannedPoints,
  pointCountOf,
  readTimesOf,
  recoverMs,
  storeTroubles,
  metadataFaults,
  type Knowledge,
} from "./checks/check-metadata.ts";
import { pick, randomPanel, regionsOf, siblingOf, type Panel } from "./panels.ts";

/** What a run of the probe found. */
export interface ProbeReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly troubles: Readonly<Record<string, number>>;
  /** Words of `X-Query-Cache` in the responses. */
  readonly words: Readonly<Record<string, number>>;
  /** Faults by their words without numbers. */
  readonly sorts: Readonly<Record<string, number>>;
  /** The first of each sort, with its response. */
  readonly wrong: readonly string[];
}

/** Panels that are queried repeatedly; a share of them is replaced. */
const panelsMax = 10;
const replacedShare = 0.03;
/** A connection to a pod that was ended may be noticed so much later. */
const connectionMsMax = 1_000;

/** Sends one query after another and checks every response. */
export class Probe {
  readonly #installation: Installation;
  readonly #next: () => number;
  readonly #asker: Asker;
  readonly #limited: Asker;
  readonly #knowledge: Knowledge;
  readonly #tallies: readonly HitTally[];
  readonly #quota = createQuotaWatch();
  readonly #panels: Panel[];
  readonly #counts = {
    queries: 0,
    points: 0,
    open: 0,
    torn: 0,
    undecided: 0,
    compared: 0,
    health: 0,
    partial: 0,
    failed: 0,
    pages: 0,
    exemplars: 0,
  };
  readonly #words: Record<string, number> = {};
  readonly #findings: Findings;
  readonly #underWay = new Set<Promise<void>>();
  /** Range queries of a metric and its aggregation, as plans named them. */
  readonly #planned = new Map<string, number>();

  constructor(installation: Installation, next: () => number) {
    this.#installation = installation;
    this.#next = next;
    const unanswered = (url: string, sentMs: number): void =>
      this.#findings.add("unanswered", this.#unansweredFaults(url, sentMs));
    this.#asker = createAsker(installation.tokens.probe, unanswered);
    this.#limited = createAsker(installation.tokens.limited, unanswered);
    const { timeline, catalogs, quotas, stores } = installation;
    this.#knowledge = { timeline, catalogs, quotas, records: stores.map(({ record }) => record) };
    this.#findings = createFindings(timeline);
    this.#tallies = installation.pods.map(() => createHitTally());
    this.#panels = Array.from({ length: panelsMax }, () => randomPanel(next, Date.now()));
  }

  restarted(pod: number): void {
    this.#tallies[pod]?.reset();
  }

  /** Sends one query on any of the routes. */
  ask(): Promise<void> {
    return this.#during(this.#askOnce());
  }

  async #askOnce(): Promise<void> {
    const next = this.#next;
    const index = Math.floor(next() * this.#installation.pods.length);
    const pod = this.#installation.pods[index];
    if (pod === undefined) return;
    const panel = this.#panel();
    const way = next();
    if (way < 0.68) this.#check(await this.#asker.query(pod, panel, next() < 0.5));
    else if (way < 0.75) await this.#askPages(index, panel);
    else if (way < 0.88) this.#check(await this.#asker.instant(pod, panel));
    else {
      for (const response of (await this.#asker.bulk(pod, [
        panel,
        ...Array.from({ length: Math.floor(next() * 4) }, () => this.#panel()),
      ])) ?? [])
        this.#check(response);
    }
  }

  async #askPages(index: number, panel: Panel): Promise<void> {
    const pod = this.#installation.pods[index];
    if (pod === undefined) return;
    const sentMs = Date.now();
    const { whole, faults, isGone } = await this.#asker.pages(pod, panel, (page) => this.#count(page));
    this.#counts.pages += 1;
    this.#findings.add("pages", faults, whole);
    const { timeline } = this.#knowledge;
    const changes = [
      "catalog",
      "quotas",
      `pod ${index}`,
      ...regionsOf(panel).flatMap((region) => storeTroubles.map((trouble) => `${trouble} ${region}`)),
    ];
    const isQuiet = changes.every((change) => timeline.isQuiet(change, sentMs - recoverMs, Date.now()));
    if (isGone && isQuiet && panel.window.kind === "fixed")
      this.#findings.add("pages", [`the snapshot of a settled window is gone: ${JSON.stringify(panel)}`]);
    this.#check(whole, true);
  }

  /** Only a pod that was just ended may leave a request without a response. */
  #unansweredFaults(url: string, sentMs: number): readonly string[] {
    const index = this.#installation.pods.findIndex((pod) => url.startsWith(pod.url));
    return this.#knowledge.timeline.isQuiet(`pod ${index}`, sentMs - connectionMsMax, Date.now())
      ? [`no answer from pod ${index} to ${url}`]
      : [];
  }

  async lookAtHealth(): Promise<void> {
    for (const [index, pod] of this.#installation.pods.entries()) {
      const reply = await this.#asker.health(pod);
      if (reply === undefined) continue;
      this.#counts.health += 1;
      // Responses that the pod counted may still be under way to the probe.
      await Promise.allSettled(this.#underWay);
      // A pod that restarted since has lost its counts.
      const isSame = this.#knowledge.timeline.isQuiet(`pod ${index}`, reply.sentMs, Date.now());
      this.#findings.add("health", healthFaults(reply, this.#knowledge, isSame ? this.#tallies[index] : undefined));
    }
  }

  /** Sends a query as the client whose quota is too small. */
  askLimited(): Promise<void> {
    return this.#during(this.#askLimitedOnce());
  }

  async #during(work: Promise<void>): Promise<void> {
    this.#underWay.add(work);
    await work.finally(() => this.#underWay.delete(work));
  }

  async #askLimitedOnce(): Promise<void> {
    const response = await this.#limited.query(pick(this.#next, this.#installation.pods), this.#panel(), false);
    if (response === undefined) return;
    this.#quota.add(response);
    if (response.status !== 429) this.#count(response);
  }

  report(): ProbeReport {
    const { timeline } = this.#installation;
    const troubles = timeline.counts();
    const resets = ["nats", "pod 0", "pod 1"].reduce((sum, name) => sum + 2 * (troubles[name] ?? 0), 0);
    this.#findings.add("quota", this.#quota.faults(resets));
    this.#findings.add("etag", this.#asker.tagFaults);
    return {
      counts: { ...this.#counts, ...this.#asker.counts, ...this.#quota.counts(), wrong: this.#findings.count() },
      troubles,
      words: this.#words,
      sorts: this.#findings.sorts,
      wrong: this.#findings.wrong,
    };
  }

  #panel(): Panel {
    const next = this.#next;
    const fresh = (): Panel => randomPanel(next, Date.now());
    if (next() < replacedShare) this.#panels[Math.floor(next() * this.#panels.length)] = fresh();
    const way = next();
    if (way < 0.15) return fresh();
    return way < 0.3 ? siblingOf(next, pick(next, this.#panels)) : pick(next, this.#panels);
  }

  #check(response: ProbeResponse | undefined, isCounted = false): void {
    if (response === undefined) return;
    if (!isCounted) this.#count(response);
    this.#counts.queries += 1;
    this.#counts.exemplars += (response.body?.series ?? []).flatMap(({ exemplars }) => exemplars).length;
    this.#counts.partial += Number(response.status === 206);
    this.#counts.failed += Number(response.body === undefined);
    const faults = metadataFaults(response, this.#knowledge);
    this.#counts.compared += 1;
    this.#findings.add("metadata", faults, response);
    if (response.body !== undefined) this.#compareValues(response, response.body);
  }

  #compareValues(response: ProbeResponse, body: ResponseBody): void {
    const version = catalogVersionsOf(response, this.#knowledge).find(
      (one) => schemaVersionOf(one) === body.schemaVersion,
    );
    if (version === undefined) return;
    const question = {
      panel: response.panel,
      body,
      version,
      readTimes: readTimesOf(response, body, cacheDuring(response, this.#knowledge)),
    };
    const { points, open, torn, undecided, wrong } = compareValues(question, this.#knowledge.records);
    this.#counts.points += points;
    this.#counts.open += open;
    this.#counts.torn += torn;
    this.#counts.undecided += undecided;
    this.#findings.add("value", wrong, response);
  }

  /** Counts the points that the pod reports of its cache. */
  #count(response: ProbeResponse): void {
    const { panel, headers, body, pod } = response;
    for (const word of (headers["x-query-cache"] ?? "304").match(/[a-z]+(?=[*;]|$)|304/gu) ?? [])
      this.#words[word] = (this.#words[word] ?? 0) + 1;
    if (body === undefined) return;
    const name = JSON.stringify([panel.metrics, panel.agg, panel.filters["region"]]);
    const perPoint = plannedPoints(headers["x-query-plan"] ?? "", 1);
    if (perPoint > 0) this.#planned.set(name, perPoint);
    const index = this.#installation.pods.findIndex(({ url }) => url === pod);
    this.#tallies[index]?.add(response, pointCountOf(body.grid) * (this.#planned.get(name) ?? 0));
  }
}
