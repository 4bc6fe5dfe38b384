import type { PreviewedSimulation, SimulatedPartner } from "../../api/previews.ts";
import type { PartnerConfig } from "../../crds/config.ts";
import type { AttemptRecord } from "../webhooks/records/attempt-records.ts";
import type { Outcome } from "../webhooks/settlement/outcome.ts";
import type { JudgedDelivery } from "./attempt-changes.ts";
import { figuresOf, isDead, recordedCourse } from "./simulation/figures.ts";
import type { Course, RecordedDelivery } from "./simulation/course.ts";
import { simulate, type Simulation } from "./simulation/simulate.ts";

/** Keeps judged deliveries until the end of a preview. */
export interface Sample {
  add(delivery: JudgedDelivery): void;
  clear(): void;
  /**
   * @param nowMs no attempt is simulated after it, or after the last recorded one; Unix milliseconds
   * @param rest a pause between steps
   */
  effect(nowMs: number, rest: () => Promise<void>): Promise<PreviewedSimulation>;
}

/** Recorded attempts that one preview keeps, and attempts that it simulates. They bound memory and time. */
const recordedMax = 20_000;
const simulatedMax = 40_000;
/** Partners of one preview, which is stored as one message. */
const partnersMax = 256;

interface Kept {
  readonly after: PartnerConfig;
  readonly deliveries: RecordedDelivery[];
}

export function createSample(): Sample {
  const partners = new Map<string, Kept>();
  const others = new Set<string>();
  let [attempts, leftOut] = [0, 0];
  return {
    add: (judged) => {
      const { label, change, after, records } = judged;
      const recorded = change === "sending" ? undefined : recordedOf(judged);
      const isFull = !partners.has(label) && partners.size + others.size >= partnersMax;
      if (change === "sending" && (!isFull || others.has(label))) others.add(label);
      else if (recorded === undefined || isFull || attempts + records.length > recordedMax) leftOut += 1;
      else {
        attempts += records.length;
        const kept = partners.get(label) ?? { after, deliveries: [] };
        partners.set(label, kept);
        kept.deliveries.push(recorded);
      }
    },
    clear: () => {
      partners.clear();
      others.clear();
      [attempts, leftOut] = [0, 0];
    },
    effect: (nowMs, rest) => effectOf(partners, { others, leftOut, nowMs, rest }),
  };
}

interface Rest {
  readonly others: ReadonlySet<string>;
  readonly leftOut: number;
  readonly nowMs: number;
  readonly rest: () => Promise<void>;
}

async function effectOf(kept: ReadonlyMap<string, Kept>, all: Rest): Promise<PreviewedSimulation> {
  const { others, leftOut, nowMs } = all;
  const partners: SimulatedPartner[] = [];
  let [left, isComplete] = [simulatedMax, leftOut === 0];
  for (const [label, { after, deliveries }] of [...kept].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    const untilMs = deliveries.reduce((last, { attempts }) => Math.max(last, attempts.at(-1)?.endMs ?? 0), nowMs);
    const simulation = await finished(simulate(deliveries, { ...after, untilMs }, left), all.rest);
    left -= simulation.courses.reduce((sum, { attempts }) => sum + attempts.length, 0);
    isComplete &&= simulation.isComplete;
    partners.push(simulatedPartner(label, deliveries.map(recordedCourse), simulation));
  }
  return { complete: isComplete, left_out: leftOut, not_simulated: [...others].toSorted(), partners };
}

async function finished<T>(steps: Generator<void, T, void>, rest: () => Promise<void>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await rest();
  }
}

function simulatedPartner(partner: string, recorded: readonly Course[], simulation: Simulation): SimulatedPartner {
  const { courses, estimated, farthestMs } = simulation;
  return {
    partner,
    deliveries: recorded.length,
    estimated,
    farthest_ms: farthestMs,
    would_live: recorded.filter((course, at) => isDead(course) && courses[at]?.end === "delivered").length,
    would_die: courses.filter((course, at) => isDead(course) && !isDead(recorded[at] ?? course)).length,
    recorded: figuresOf(recorded),
    simulated: figuresOf(courses),
  };
}

/** Undefined without the first attempts. An attempt that two pods made counts once. */
function recordedOf({ records, acceptedAtMs, exact, isMoved }: JudgedDelivery): RecordedDelivery | undefined {
  const single = records.filter(({ attempt }, index) => attempt !== records[index - 1]?.attempt);
  const isWhole = single.every(({ attempt }, index) => attempt === index + 1);
  const [first, last] = [single[0], single.at(-1)];
  if (!isWhole || first === undefined || last === undefined) return undefined;
  const attempts = single.map(madeAttempt);
  const startMs = Date.parse(first.at);
  return {
    acceptedAtMs: Math.min(acceptedAtMs ?? startMs, startMs),
    attempts,
    end: last.settlement.kind,
    exact: isMoved ? (records[exact - 1]?.attempt ?? 0) : attempts.length,
    isMoved,
  };
}

/** Headers decide about the next attempt; the body does not. */
function madeAttempt({ at, durationMs, timings, outcome }: AttemptRecord) {
  const startMs = Date.parse(at);
  const kept: Outcome =
    outcome.kind === "response" ? { ...outcome, body: "", timings } : { ...outcome, detail: "", timings };
  return { startMs, endMs: startMs + durationMs, outcome: kept };
}
