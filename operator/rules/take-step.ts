import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/kube-error.ts";
import type { ObjectRef } from "../../kube/client/resource.ts";
import type { RuleStep } from "./decide-rule.ts";
import { type RuleObject, ruleType } from "./rule-object.ts";

/** Reads an object; undefined without it, or without its kind. @throws KubeError */
export async function readRule(
  client: KubeClient,
  ref: ObjectRef,
  signal: AbortSignal,
): Promise<RuleObject | undefined> {
  return await orNothing(client.get<RuleObject>(ruleType, ref, { signal }));
}

async function orNothing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isKubeError(error, "notFound")) return undefined;
    throw error;
  }
}

/** Where a step is taken. */
interface Place {
  readonly ref: ObjectRef;
  /** The object that was read. */
  readonly current: RuleObject | undefined;
  readonly signal: AbortSignal;
}

/**
 * Returns the object after the step. A write replaces exactly what was read, and a create replaces nothing.
 *
 * @throws KubeError `notFound` if the kind is missing; `conflict` or `alreadyExists` if another writer was faster
 */
export async function takeStep(
  client: KubeClient,
  step: RuleStep,
  { ref, current, signal }: Place,
): Promise<RuleObject | undefined> {
  if (step.kind === "delete") {
    const { uid = "", resourceVersion = "" } = current?.metadata ?? {};
    await orNothing(client.delete(ruleType, ref, { signal, uid, resourceVersion }));
    return undefined;
  }
  if (step.kind !== "write") return current;
  return current === undefined
    ? await client.create(ruleType, step.object, { signal })
    : await client.replace(ruleType, step.object, { signal });
}
