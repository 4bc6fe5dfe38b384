import {
  type EndpointVerifiedReason,
  type ObservedReason,
  reasons,
  type RulesWrittenReason,
} from "../../crds/reasons.ts";
import type { WebhookPartnerSpec } from "../../crds/types/webhook-partner.ts";
import type { Facts } from "../conditions.ts";
import type { RuleFacts } from "../rules/rule-facts.ts";
import { ownConditions } from "../conditions.ts";
import {
  validationBy,
  disabledBy,
  observedBy,
  rolloutOf,
  type Pods,
  type Rollout,
  type RolloutTimes,
} from "../observe/rollout.ts";
import type { CompileOutcome } from "../publish/desired-state.ts";
import type { Publication } from "../publish/publications.ts";
import type { Need } from "../observe/rollout.ts";
import { columnsOf } from "./status-decision.ts";
import { isPaused, type ResourceObject, type ResourceStatus } from "../resource-types.ts";

/** The known state of one object, from which its status is decided. */
export interface KnownObject {
  /** `<Kind>/<namespace>/<name>` */
  readonly key: string;
  readonly object: ResourceObject;
  readonly status: ResourceStatus | undefined;
  /** The outcome of its present version; undefined before its compilation. */
  readonly outcome: CompileOutcome | undefined;
  readonly publication: Publication | undefined;
  readonly needs: readonly Need[];
  readonly pods: Pods;
  /** The published form that every ready pod was seen to apply last. */
  readonly confirmedDigest: string | undefined;
  readonly nowMs: number;
  /** `<namespace>/<prefix>` of this installation. */
  readonly installation: string;
  /** Reason why the namespace cannot be listed now; undefined while it can. */
  readonly unavailable: string | undefined;
  /** Facts of the catalog's PrometheusRule; undefined before the first ones of this term. */
  readonly rules: RuleFacts | "none" | undefined;
}

/** Derives the facts of a decision. */
export function factsOf(known: KnownObject, times: RolloutTimes): Facts {
  const { object, outcome, publication } = known;
  return {
    generation: object.metadata.generation,
    isPaused: isPaused(object),
    isSuspended: object.kind === "WebhookPartner" && (object.spec as WebhookPartnerSpec).state === "Paused",
    columns: { installation: known.installation, ...columnsOf(object) },
    result: outcome?.result,
    isTooLarge: outcome?.isTooLarge ?? false,
    inForce: generationOf(outcome?.digest),
    isPublished: outcome !== undefined && outcome.digest === publication?.digest,
    rollout: rolloutFor(known, times),
    disabled: disabledFor(known),
    ...validationFor(known),
    ...observedFor(known),
    ...rulesFor(known),
    ...(known.unavailable === undefined ? {} : { unavailable: known.unavailable }),
  };
}

/** Digests begin with the generation. */
function generationOf(digest: string | undefined): number | undefined {
  return digest === undefined ? undefined : Number.parseInt(digest, 10);
}

function rolloutFor(known: KnownObject, times: RolloutTimes): Rollout {
  const { key, outcome, publication, needs, pods, nowMs } = known;
  const generation = generationOf(outcome?.digest);
  const isPublished = generation !== undefined && publication !== undefined && outcome?.digest === publication.digest;
  if (!isPublished) return { kind: "waiting", untilMs: nowMs };
  const isProgrammed = known.confirmedDigest === publication.digest && isProgrammedIn(known.status, generation);
  return rolloutOf({ key, generation, needs, publishedAtMs: publication.atMs, isProgrammed }, pods, nowMs, times);
}

/** Returns true for a status in which a generation is programmed. */
export function isProgrammedIn(status: ResourceStatus | undefined, generation: number): boolean {
  return ownConditions(status).some(({ type, status: held, observedGeneration }) => {
    return type === "Programmed" && held === "True" && observedGeneration === generation;
  });
}

/** The status keeps its result until a pod reports another one. A new pod has not validated yet. */
function validationFor({ object, status, pods }: KnownObject): Pick<Facts, "validation"> {
  const { uid, generation } = object.metadata;
  if (object.kind !== "WebhookPartner") return {};
  const mark = validationBy(pods, uid, generation);
  const held = ownConditions(status).find(
    ({ type, observedGeneration }) => type === "EndpointVerified" && observedGeneration === generation,
  );
  const reason = verifiedReason(mark?.reason ?? held?.reason);
  return reason === undefined ? {} : { validation: { reason, message: mark?.message ?? held?.message ?? "" } };
}

/** The status keeps its result until a pod reports another one: a new leader compares the catalog first. */
function observedFor({ object, status, pods }: KnownObject): Pick<Facts, "observed"> {
  if (object.kind !== "MetricCatalog") return {};
  const found = observedBy(pods, object.metadata.uid);
  if (found !== undefined) return { observed: found };
  const held = ownConditions(status).find(({ type }) => type === "Observed");
  if (held === undefined || !Object.hasOwn(reasons.Observed, held.reason)) return {};
  const reason = held.reason as ObservedReason;
  const { message, observedGeneration: generation = 0 } = held;
  return { observed: { reason, message, generation, metrics: status?.observed ?? [] } };
}

/** The status keeps its facts until this leader has its own. */
function rulesFor({ object, status, rules }: KnownObject): Pick<Facts, "rules"> {
  if (object.kind !== "MetricCatalog" || rules === "none") return {};
  if (rules !== undefined) return { rules };
  const held = ownConditions(status).find(({ type }) => type === "RulesWritten");
  if (held === undefined || !Object.hasOwn(reasons.RulesWritten, held.reason)) return {};
  const { message, observedGeneration: generation = 0 } = held;
  return { rules: { reason: held.reason as RulesWrittenReason, message, generation } };
}

function verifiedReason(reason: string | undefined): EndpointVerifiedReason | undefined {
  return reason !== undefined && Object.hasOwn(reasons.EndpointVerified, reason)
    ? (reason as EndpointVerifiedReason)
    : undefined;
}

/** While a pod has not reported yet, a disabled partner stays disabled in the status. */
function disabledFor({ object, status, pods }: KnownObject): string | undefined {
  const { uid, generation } = object.metadata;
  if (object.kind !== "WebhookPartner") return undefined;
  const isUnheard =
    pods.list.length === 0 || pods.list.some(({ report, silence }) => report === undefined && silence === undefined);
  const ready = ownConditions(status).find(({ type }) => type === "Ready");
  const stands = isUnheard && ready?.reason === "PartnerDisabled" && ready.observedGeneration === generation;
  return disabledBy(pods, uid, generation) ?? (stands ? ready.message : undefined);
}
