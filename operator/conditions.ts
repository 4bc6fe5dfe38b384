import type { ResourceResult } from "../crds/compile/resource-result.ts";
import { type ConditionStatus, type EndpointVerifiedReason, reasons, type ProgrammedReason } from "../crds/reasons.ts";
import { typesFault } from "../crds/compile/unresolved-types.ts";
import { capBytes, mask } from "../kube/client/kube-error.ts";
import { observedDrafts, type ObservedFacts, type Rollout } from "./observe/rollout.ts";
import type { Condition, ResourceStatus, StatusColumns } from "./resource-types.ts";
import { ruleDrafts, type RuleFacts } from "./rules/rule-facts.ts";

/** The input for the conditions of one object. */
export interface Facts {
  /** `metadata.generation` of the object as it is now. */
  readonly generation: number;
  /** True while the annotation pauses the object. */
  readonly isPaused: boolean;
  /** True while the spec pauses deliveries. */
  readonly isSuspended: boolean;
  /** Values of the object's columns. */
  readonly columns: StatusColumns;
  /**
   * Result of `compile` for this version; undefined before it, and for a paused object without a published version.
   */
  readonly result: ResourceResult | undefined;
  /** True when its shard is full. */
  readonly isTooLarge: boolean;
  /** The generation to be in force; undefined when there is none. */
  readonly inForce: number | undefined;
  /** True when the published shards hold that generation. */
  readonly isPublished: boolean;
  /** State of its rollout; only for an object in force and published. */
  readonly rollout: Rollout;
  /** Reason why the data plane disabled this partner; undefined when it did not. */
  readonly disabled: string | undefined;
  /** Result of the endpoint validation; absent before it. */
  readonly validation?: { readonly reason: EndpointVerifiedReason; readonly message: string };
  /** The catalog compared with its stores; absent before it. */
  readonly observed?: ObservedFacts;
  /** The catalog's PrometheusRule; absent when the operator writes none. */
  readonly rules?: RuleFacts;
  /** Reason why the namespace cannot be listed now; absent while it can. */
  readonly unavailable?: string;
}

/** A condition without the time of its last change. */
export type ConditionDraft = Omit<Condition, "lastTransitionTime">;

/** The conditions that are always present, in the order of evaluation. */
export const lastingConditions = ["Accepted", "ResolvedRefs", "Programmed", "Ready"] as const;
/** The conditions that are present while True. Source: kstatus, "The Stalled and Reconciling Conditions". */
export const passingConditions = ["Reconciling", "Stalled"] as const;
/** The conditions of what the data plane reports, and of what the operator writes for others. */
export const reportedConditions = ["EndpointVerified", "Observed", "RulesWritten"] as const;
/** The conditions that are present while False and warn only: `Ready` does not depend on them. */
export const warningConditions = ["SigningKeysUnambiguous", "TypesResolved", "NamespaceWatched"] as const;

type LastingCondition = (typeof lastingConditions)[number];

const messageBytesMax = 1024;

/**
 * Reasons of a `Ready` that can end without an edit of the object: a Secret or its content, a grant of the policy or a
 * pod can still arrive. Flux and Argo CD wait for these and give up on any other reason for False.
 */
const passingReasons: ReadonlySet<string> = new Set([
  "Pending",
  "PartiallyApplied",
  "NoReadyPods",
  "RuntimeError",
  "NotPermitted",
  "SecretNotFound",
  "SecretNotReadable",
  "SecretKeyMissing",
  "KeyTooShort",
  "KeyUnusable",
  "CredentialInvalid",
  "CertificateInvalid",
]);

/**
 * Decides the conditions of an object. `Ready` mirrors the first of the others that is not True:
 *
 * ```
 *   Accepted ─► ResolvedRefs ─► Programmed ─► Ready ─┬─ True: the data plane did not disable it
 *      False, Unknown: Ready has its status and reason ─┴─ and Reconciling, or Stalled when only an edit of it helps
 * ```
 */
export function decideConditions(facts: Facts): readonly ConditionDraft[] {
  const lasting = facts.isPaused && isUndisputed(facts) ? pausedDrafts(facts) : activeDrafts(facts);
  const ready = lasting.at(-1);
  const others = ready === undefined ? [] : [passingDrafts(ready, facts), reportedDrafts(facts), warningDrafts(facts)];
  return (ready === undefined ? [] : [...lasting, ...others.flat()]).map((draft) => ({
    ...draft,
    message: capBytes(mask(draft.message), messageBytesMax),
  }));
}

/** Returns false for a paused object with a conflict or without a permission: its conditions show that. */
function isUndisputed({ result, inForce }: Facts): boolean {
  return result === undefined || (inForce !== undefined && result.held === undefined);
}

function activeDrafts(facts: Facts): readonly ConditionDraft[] {
  const { generation } = facts;
  const programmed = programmedDraft(facts, facts.inForce ?? generation);
  const others = [compiledDraft("Accepted", facts), compiledDraft("ResolvedRefs", facts), programmed];
  return [...others, readyDraft(others, facts, of("Ready", facts.isSuspended ? "Paused" : "Ready", generation))];
}

/** The conditions of a paused object describe its published version. */
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

function compiledDraft(type: "Accepted" | "ResolvedRefs", { result, generation }: Facts): ConditionDraft {
  if (result === undefined) return of(type, "Pending", generation);
  const { status, reason, message } = type === "Accepted" ? result.accepted : result.resolvedRefs;
  return { type, status: status ? "True" : "False", reason, message, observedGeneration: generation };
}

function programmedDraft(facts: Facts, generation: number): ConditionDraft {
  const { result, isTooLarge, inForce, isPublished, rollout } = facts;
  const say = (reason: ProgrammedReason, message?: string): ConditionDraft => ({
    ...of("Programmed", reason, generation),
    ...(message === undefined ? {} : { message }),
  });
  if (!isPublished || (result === undefined && inForce === undefined)) return say("Pending");
  if (isTooLarge) return say("ConfigTooLarge");
  if (inForce === undefined) return say("NotInForce");
  return result?.held !== undefined && rollout.kind === "programmed"
    ? say("Held")
    : say(...reasonOf(rollout, generation));
}

function reasonOf(rollout: Rollout, generation: number): [reason: ProgrammedReason, message?: string] {
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

/** `Ready` of an object whose last good version is in force, since a reference cannot be read. */
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

/** `Reconciling` or `Stalled`. A last good version uses the reason of its reference. */
function passingDrafts({ status, ...rest }: ConditionDraft, { result }: Facts): readonly ConditionDraft[] {
  if (status === "True") return [];
  const cause = rest.reason === "UsingLastGood" ? (result?.resolvedRefs.reason ?? "") : rest.reason;
  return [{ ...rest, status: "True", type: passingReasons.has(cause) ? "Reconciling" : "Stalled" }];
}

/** `Ready` does not depend on these: deliveries repeat the validation, for example. */
function reportedDrafts({ validation, observed, rules, generation }: Facts): readonly ConditionDraft[] {
  const others = [...observedDrafts(observed), ...ruleDrafts(rules)];
  if (validation === undefined) return others;
  const { status } = reasons.EndpointVerified[validation.reason];
  return [{ type: "EndpointVerified", status, ...validation, observedGeneration: generation }, ...others];
}

function warningDrafts({ result, generation, unavailable }: Facts): readonly ConditionDraft[] {
  const sentences = result?.ambiguousKeys ?? [];
  const { UnprefixedKey: ambiguous } = reasons.SigningKeysUnambiguous;
  const types = result === undefined ? undefined : typesFault(result);
  const { NamespaceUnavailable: unwatched } = reasons.NamespaceWatched;
  const warning = (type: string, reason: string, status: ConditionStatus, message: string): ConditionDraft => {
    return { type, status, reason, message, observedGeneration: generation };
  };
  return [
    ...(sentences.length === 0
      ? []
      : [warning("SigningKeysUnambiguous", "UnprefixedKey", ambiguous.status, sentences.join("; "))]),
    ...(types === undefined ? [] : [warning("TypesResolved", types.reason, types.status, types.message)]),
    ...(unavailable === undefined
      ? []
      : [warning("NamespaceWatched", "NamespaceUnavailable", unwatched.status, `${unwatched.meaning} ${unavailable}`)]),
  ];
}

/** A condition with the meaning of its reason as message. */
function of<Type extends LastingCondition>(
  type: Type,
  reason: keyof (typeof reasons)[Type],
  observedGeneration: number,
): ConditionDraft {
  const row = reasons[type][reason] as { readonly status: ConditionStatus; readonly meaning: string };
  return { type, status: row.status, reason: String(reason), message: row.meaning, observedGeneration };
}

/** Adds the time of the last change. A condition that keeps its status keeps its time. */
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

/** The operator's conditions of a status. The schema's default in a new object has no generation. */
export function ownConditions(status: ResourceStatus | undefined): readonly Condition[] {
  const own = new Set<string>([lastingConditions, passingConditions, reportedConditions, warningConditions].flat());
  return (status?.conditions ?? []).filter(
    ({ type, observedGeneration }) => own.has(type) && observedGeneration !== undefined,
  );
}
