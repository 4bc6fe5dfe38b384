import { partPermissionProblems } from "../checks/permissions.ts";
import type { ConfigPart } from "../part.ts";
import type { InstallationPolicy } from "../policy.ts";
import { expired, withdrawnFrom } from "./stand-in.ts";
import { type KeyHolder, uniqueKeysOfPart } from "./uniqueness.ts";

/** An applied part of an object that cannot be read now, and the unique keys that it keeps. */
export interface CarriedPart extends KeyHolder {
  readonly part: ConfigPart;
}

interface CarryLimits {
  readonly policy: InstallationPolicy;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Time for which a last good version may stand in. */
  readonly lastGoodMs: number;
}

/**
 * The applied part of an object whose namespace cannot be listed, as far as the present policy permits it. A partner
 * stays in the configuration, held if need be; a catalog or a quota that is not permitted is left out. A last good
 * version ends at its time here too.
 */
export function carry(part: ConfigPart, { policy, nowMs, lastGoodMs }: CarryLimits): CarriedPart | undefined {
  const current = expired(part, nowMs, lastGoodMs);
  const kept = current === undefined ? undefined : permitted(current, policy);
  if (kept === undefined) return undefined;
  const { namespace, name } = kept.config;
  const resource = { kind: kept.kind, metadata: { namespace, name } };
  return { part: kept, resource, uniqueKeys: uniqueKeysOfPart(resource, kept) };
}

function permitted(part: ConfigPart, policy: InstallationPolicy): ConfigPart | undefined {
  if (partPermissionProblems(part, policy).length === 0) return part;
  return part.kind === "WebhookPartner" ? withdrawnFrom(part, policy) : undefined;
}
