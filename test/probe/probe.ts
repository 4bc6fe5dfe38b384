import type { Answer, AnswerBody } from "./answers.ts";
import { createAsker, type Asker } from "./ask.ts";
import { schemaVersionOf } from "./catalog.ts";
import { createFindings, type Findings } from "./findings.ts";
import type { Installation } from "./installation.ts";
import { createHitTally, healthFaults, type HitTally } from "./judges/judge-health.ts";
import { createQuotaWatch } from "./judges/judge-quota.ts";
import { judgeValues } from "./judges/judge-values.ts";
import {
  cacheDuring,
  catalogVersionsOf,
  plannedPoints,
  pointCountOf,
  readTimesOf,
  recoverMs,
  storeTroubles,
  verdictFaults,
  type Knowledge,
} from "./judges/judge-verdicts.ts";
import { pick, randomPanel, regionsOf, siblingOf, type Panel } from "./panels.ts";

/** What a run of the probe found. */
export interface ProbeReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly troubles: Readonly<Record<string, number>>;
  /** Words of `X-Query-Cache` that answers had. */
  readonly words: Readonly<Record<string, number>>;
  /** Faults by their words without numbers. */
  readonly sorts: Readonly<Record<string, number>>;
  /** The first of each sort, with the answer that it is of. */
  readonly wrong: readonly string[];
}

/** Panels that are asked again and again; one is replaced from time to time. */
const panelsMax = 10;
const replacedShare = 0.03;
/** A connection to a pod that was ended may be noticed so much later. */
const connectionMsMax = 1_000;

/** Asks one question after another and judges every answer. */
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
    verdicts: 0,
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

  /** Asks one question in any of the ways that there are. */
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
    if (way < 0.68) this.#judge(await this.#asker.query(pod, panel, next() < 0.5));
    else if (way < 0.75) await this.#askPages(index, panel);
    else if (way < 0.88) this.#judge(await this.#asker.instant(pod, panel));
    else
      for (const answer of (await this.#asker.bulk(pod, [
        panel,
        ...Array.from({ length: Math.floor(next() * 4) }, () => this.#panel()),
      ])) ?? [])
        this.#judge(answer);
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
    this.#judge(whole, true);
  }

  /** Only a pod that was just ended may leave a request without an answer. */
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
      // Answers that the pod counted may still be on their way here.
      await Promise.allSettled(this.#underWay);
      // Nor does one that has begun anew since stand for what it said before.
      const isSame = this.#knowledge.timeline.isQuiet(`pod ${index}`, reply.sentMs, Date.now());
      this.#findings.add("health", healthFaults(reply, this.#knowledge, isSame ? this.#tallies[index] : undefined));
    }
  }

  /** Asks as the client that has less than it wants. */
  askLimited(): Promise<void> {
    return this.#during(this.#askLimitedOnce());
  }

  async #during(work: Promise<void>): Promise<void> {
    this.#underWay.add(work);
    await work.finally(() => this.#underWay.delete(work));
  }

  async #askLimitedOnce(): Promise<void> {
    const answer = await this.#limited.query(pick(this.#next, this.#installation.pods), this.#panel(), false);
    if (answer === undefined) return;
    this.#quota.add(answer);
    if (answer.status !== 429) this.#count(answer);
  }

  report(): ProbeReport {
    const { timeline } = this.#installation;
    const troubles = timeline.counts();
    const renewals = ["nats", "pod 0", "pod 1"].reduce((sum, name) => sum + 2 * (troubles[name] ?? 0), 0);
    this.#findings.add("quota", this.#quota.faults(renewals));
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

  #judge(answer: Answer | undefined, isCounted = false): void {
    if (answer === undefined) return;
    if (!isCounted) this.#count(answer);
    this.#counts.queries += 1;
    this.#counts.exemplars += (answer.body?.series ?? []).flatMap(({ exemplars }) => exemplars).length;
    this.#counts.partial += Number(answer.status === 206);
    this.#counts.failed += Number(answer.body === undefined);
    const faults = verdictFaults(answer, this.#knowledge);
    this.#counts.verdicts += 1;
    this.#findings.add("verdict", faults, answer);
    if (answer.body !== undefined) this.#judgeValues(answer, answer.body);
  }

  #judgeValues(answer: Answer, body: AnswerBody): void {
    const version = catalogVersionsOf(answer, this.#knowledge).find(
      (one) => schemaVersionOf(one) === body.schemaVersion,
    );
    if (version === undefined) return;
    const question = {
      panel: answer.panel,
      body,
      version,
      readTimes: readTimesOf(answer, body, cacheDuring(answer, this.#knowledge)),
    };
    const { points, open, torn, undecided, wrong } = judgeValues(question, this.#knowledge.records);
    this.#counts.points += points;
    this.#counts.open += open;
    this.#counts.torn += torn;
    this.#counts.undecided += undecided;
    this.#findings.add("value", wrong, answer);
  }

  /** Adds to what the pod says of its cache. */
  #count(answer: Answer): void {
    const { panel, headers, body, pod } = answer;
    for (const word of (headers["x-query-cache"] ?? "304").match(/[a-z]+(?=[*;]|$)|304/gu) ?? [])
      this.#words[word] = (this.#words[word] ?? 0) + 1;
    if (body === undefined) return;
    const name = JSON.stringify([panel.metrics, panel.agg, panel.filters["region"]]);
    const perPoint = plannedPoints(headers["x-query-plan"] ?? "", 1);
    if (perPoint > 0) this.#planned.set(name, perPoint);
    const index = this.#installation.pods.findIndex(({ url }) => url === pod);
    this.#tallies[index]?.add(answer, pointCountOf(body.grid) * (this.#planned.get(name) ?? 0));
  }
}
