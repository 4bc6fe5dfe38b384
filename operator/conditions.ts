import type { ResourceResult } from "../crds/compile/resource-result.ts";
import { type ConditionStatus, type EndpointVerifiedReason, reasons, type ProgrammedReason } from "../crds/reasons.ts";
import { capBytes, mask } from "../kube/client/mask.ts";
import type { Rollout } from "./observe/rollout.ts";
import type { Condition, ResourceStatus, StatusColumns } from "./resource-types.ts";

/** All that the conditions of one object are decided from. */
export interface Facts {
  /** `metadata.generation` of the object as it is now. */
  readonly generation: number;
  /** Whether the annotation asks to leave the object alone. */
  readonly isPaused: boolean;
  /** Whether the spec asks to send nothing. */
  readonly isSuspended: boolean;
  /** What columns show of the object. */
  readonly columns: StatusColumns;
  /**
   * What `compile` said of this very version; undefined before it did, and for a paused object of which nothing was
   * published.
   */
  readonly result: ResourceResult | undefined;
  /** Whether it was left out because its shard is full. */
  readonly isTooLarge: boolean;
  /** The generation that is to be in force; undefined when none is. */
  readonly inForce: number | undefined;
  /** Whether the published shards hold just that. */
  readonly isPublished: boolean;
  /** What the pods make of it; of something in force and published only. */
  readonly rollout: Rollout;
  /** Why the data plane stopped sending to this partner; undefined when it did not. */
  readonly disabled: string | undefined;
  /** What the partner's endpoint answered when it was asked for its consent; absent when it was not. */
  readonly consent?: { readonly reason: EndpointVerifiedReason; readonly message: string };
}

/** A condition before anybody knows since when it holds. */
export type ConditionDraft = Omit<Condition, "lastTransitionTime">;

/** The conditions that are always there, in the order of looking. */
export const lastingConditions = ["Accepted", "ResolvedRefs", "Programmed", "Ready"] as const;
/** The conditions that are there while they are True. Source: kstatus, "The Stalled and Reconciling Conditions". */
export const passingConditions = ["Reconciling", "Stalled"] as const;
/** The conditions that are there once the data plane has something to say. */
export const toldConditions = ["EndpointVerified"] as const;

type LastingCondition = (typeof lastingConditions)[number];

const messageBytesMax = 1024;

/** Reasons of a `Ready` that time or others will mend; with any other reason for False only an edit can. */
const passingReasons: ReadonlySet<string> = new Set([
  "Pending",
  "PartiallyApplied",
  "NoReadyPods",
  "RuntimeError",
  "SecretNotReadable",
]);

/**
 * What the conditions of an object say. `Ready` mirrors the first of the others that is not True:
 *
 * ```
 *   Accepted ─► ResolvedRefs ─► Programmed ─► Ready ─┬─ True: no mark of the data plane against it
 *      False, Unknown: Ready has its status and reason ─┴─ and Reconciling, or Stalled when only an edit helps
 * ```
 */
export function decideConditions(facts: Facts): readonly ConditionDraft[] {
  const lasting = facts.isPaused && isUndisputed(facts) ? pausedDrafts(facts) : activeDrafts(facts);
  const ready = lasting.at(-1);
  return (ready === undefined ? [] : [...lasting, ...passingDrafts(ready, facts), ...consentDrafts(facts)]).map(
    (draft) => ({
      ...draft,
      message: capBytes(mask(draft.message), messageBytesMax),
    }),
  );
}

/** A paused object that an older one drove out, or that may not be in force any more, is told so as any other. */
function isUndisputed({ result, inForce }: Facts): boolean {
  return result === undefined || (inForce !== undefined && result.held === undefined);
}

function activeDrafts(facts: Facts): readonly ConditionDraft[] {
  const { generation } = facts;
  const programmed = programmedDraft(facts, facts.inForce ?? generation);
  const others = [acceptedDraft(facts), resolvedRefsDraft(facts), programmed];
  return [...others, readyDraft(others, facts, of("Ready", facts.isSuspended ? "Paused" : "Ready", generation))];
}

/** What was published stays; the conditions speak of that. */
function pausedDrafts(facts: Facts): readonly ConditionDraft[] {
  const { generation, inForce } = facts;
  if (inForce === undefined) {
    const others = (["Accepted", "ResolvedRefs", "Programmed"] as const).map((type) => of(type, "Pending", generation));
    return [...others, of("Ready", "NothingPublished", generation)];
  }
  const others = [
    of("Accepted", "Accepted", inForce),
    of("ResolvedRefs", "ResolvedRefs", inForce),
    programmedDraft(facts, inForce),
  ];
  const message = `${reasons.Ready.ReconcilePaused.meaning} That is generation ${inForce}.`;
  return [...others, readyDraft(others, facts, { ...of("Ready", "ReconcilePaused", inForce), message })];
}

function acceptedDraft({ result, generation }: Facts): ConditionDraft {
  if (result === undefined) return of("Accepted", "Pending", generation);
  const { status, reason, message } = result.accepted;
  return { type: "Accepted", status: status ? "True" : "False", reason, message, observedGeneration: generation };
}

function resolvedRefsDraft({ result, generation }: Facts): ConditionDraft {
  if (result === undefined) return of("ResolvedRefs", "Pending", generation);
  const { status, reason, message } = result.resolvedRefs;
  return { type: "ResolvedRefs", status: status ? "True" : "False", reason, message, observedGeneration: generation };
}

function programmedDraft(facts: Facts, generation: number): ConditionDraft {
  const { result, isTooLarge, inForce, isPublished, rollout } = facts;
  const say = (reason: ProgrammedReason, message?: string): ConditionDraft => {
    const draft = of("Programmed", reason, generation);
    return message === undefined ? draft : { ...draft, message };
  };
  if (result === undefined && inForce === undefined) return say("Pending");
  if (!isPublished) return say("Pending");
  if (isTooLarge) return say("ConfigTooLarge");
  if (inForce === undefined) return say("NotInForce");
  return result?.held !== undefined && rollout.kind === "programmed"
    ? say("Held")
    : say(...wordsOf(rollout, generation));
}

function wordsOf(rollout: Rollout, generation: number): [reason: ProgrammedReason, message?: string] {
  switch (rollout.kind) {
    case "programmed":
      return ["Programmed"];
    case "waiting":
      return ["Pending"];
    case "noPods":
      return ["NoReadyPods"];
    case "failed":
      return [
        "RuntimeError",
        `The pod ${rollout.pod} has not applied generation ${generation}: ${rollout.reason}: ${rollout.message}`,
      ];
    case "lagging":
      return ["PartiallyApplied", `Generation ${generation} is not applied by ${rollout.pods}.`];
  }
}

function readyDraft(others: readonly ConditionDraft[], facts: Facts, good: ConditionDraft): ConditionDraft {
  const { disabled, generation } = facts;
  const atFault = others.find(({ status }) => status !== "True");
  if (atFault !== undefined) return lastGoodDraft(atFault, facts) ?? { ...atFault, type: "Ready" };
  return disabled === undefined ? good : { ...of("Ready", "PartnerDisabled", generation), message: disabled };
}

/** The last good version is in force: when a reference is all that is at fault. */
function lastGoodDraft(
  { type, message }: ConditionDraft,
  { result, inForce, generation }: Facts,
): ConditionDraft | undefined {
  if (type !== "ResolvedRefs" || result?.lastGood === undefined || inForce === undefined) return undefined;
  const draft = of("Ready", "UsingLastGood", generation);
  const [since, until] = [result.lastGood.sinceMs, result.lastGood.untilMs].map((ms) =>
    new Date(ms).toISOString().replace(/\.\d+Z$/u, "Z"),
  );
  const inForceNow = `That is generation ${inForce}, since ${since} and until ${until} at the latest.`;
  return { ...draft, message: `${draft.message} ${inForceNow} ${message}` };
}

/** What is in force instead passes when what it stands in for does. */
function passingDrafts({ status, ...rest }: ConditionDraft, { result }: Facts): readonly ConditionDraft[] {
  if (status === "True") return [];
  const cause = rest.reason === "UsingLastGood" ? (result?.resolvedRefs.reason ?? "") : rest.reason;
  return [{ ...rest, status: "True", type: passingReasons.has(cause) ? "Reconciling" : "Stalled" }];
}

/** `Ready` does not look at it: deliveries ask again by themselves. */
function consentDrafts({ consent, generation }: Facts): readonly ConditionDraft[] {
  if (consent === undefined) return [];
  const { status } = reasons.EndpointVerified[consent.reason];
  return [{ type: "EndpointVerified", status, ...consent, observedGeneration: generation }];
}

/** A condition in the words of the table of reasons. */
function of<Type extends LastingCondition>(
  type: Type,
  reason: keyof (typeof reasons)[Type],
  observedGeneration: number,
): ConditionDraft {
  const row = reasons[type][reason] as { readonly status: ConditionStatus; readonly meaning: string };
  return { type, status: row.status, reason: String(reason), message: row.meaning, observedGeneration };
}

/** The conditions with the time of their last change: a condition that keeps its status keeps its time. */
export function withTimes(
  drafts: readonly ConditionDraft[],
  before: readonly Condition[],
  now: string,
): readonly Condition[] {
  const known = new Map(before.map((condition) => [condition.type, condition]));
  return drafts.map((draft) => {
    const earlier = known.get(draft.type);
    return { ...draft, lastTransitionTime: earlier?.status === draft.status ? earlier.lastTransitionTime : now };
  });
}

/** What of a status is the operator's; what the schema puts into a new object speaks of no generation. */
export function ownConditions(status: ResourceStatus | undefined): readonly Condition[] {
  const own: ReadonlySet<string> = new Set([...lastingConditions, ...passingConditions, ...toldConditions]);
  return (status?.conditions ?? []).filter(
    ({ type, observedGeneration }) => own.has(type) && observedGeneration !== undefined,
  );
}
