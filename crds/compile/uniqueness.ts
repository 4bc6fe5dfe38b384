import { createHash } from "node:crypto";
import type { ConfigPart } from "../part.ts";
import type { FieldProblem } from "../problem.ts";
import type { Resource } from "../resource.ts";
import type { ResolvedKey } from "../checks/references.ts";

/** A value that only one object may use. */
export interface UniqueKey {
  /** Identity of the value, for example `metric/cpu_util`; never shown. */
  readonly name: string;
  readonly field: string;
  readonly reason: "Conflicted" | "SharedSigningKey";
  /** The value, in the words of the message. */
  readonly what: string;
  /** The type of a key that its holder can lose alone: a catalog keeps its other types. */
  readonly eventType?: string;
}

/** A unique key that an older object holds; among objects without an age, one in force or else the first by name. */
export interface ConflictProblem extends FieldProblem {
  readonly reason: UniqueKey["reason"];
  /** The event type that a catalog may not declare, when that is the value. */
  readonly eventType?: string;
}

/** Kind and name of an object. */
type Identity = Pick<Resource, "kind"> & { readonly metadata: Pick<Resource["metadata"], "namespace" | "name"> };

/** An object with its unique keys. */
export interface KeyHolder {
  readonly resource: Identity;
  readonly uniqueKeys: readonly UniqueKey[];
  /** True for an object without a time of creation, as in a folder. */
  readonly isAgeless?: boolean;
}

/** The unique keys of an object. `keys` are its resolved signing keys. */
export function uniqueKeysOf(resource: Resource, keys: readonly ResolvedKey[]): readonly UniqueKey[] {
  return [identityKey(resource), ...kindKeys(resource, keys)];
}

function kindKeys(resource: Resource, keys: readonly ResolvedKey[]): readonly UniqueKey[] {
  switch (resource.kind) {
    case "WebhookPartner":
      return keys.map(({ index, digest }) => signingKeyKey(index, digest));
    case "MetricCatalog":
      return resource.spec.metrics.map(metricKey);
    case "QueryClassQuota":
      return clientKeys(resource.spec);
    case "EventCatalog":
      return resource.spec.types.map(eventTypeKey);
  }
}

/** True for two objects of the same kind, namespace and name. */
export function isNamesake({ field }: ConflictProblem): boolean {
  return field === identityField;
}

/**
 * The unique keys of a part that is applied instead of the object's spec. Their fields have no index, since the spec
 * may have another order.
 */
export function uniqueKeysOfPart(resource: Identity, part: ConfigPart): readonly UniqueKey[] {
  if (part.kind === "WebhookPartner" && part.config.held !== undefined) return [identityKey(resource)];
  const uniqueKeys = partKeys(part).map((uniqueKey) => ({
    ...uniqueKey,
    field: uniqueKey.field.replace(/\[\d+\]/u, ""),
  }));
  return [identityKey(resource), ...uniqueKeys];
}

function partKeys({ kind, config, material }: ConfigPart): readonly UniqueKey[] {
  switch (kind) {
    case "WebhookPartner":
      return config.signing.keys.map((key, index) => signingKeyKey(index, digestOf(material[key.material] ?? "")));
    case "MetricCatalog":
      return config.metrics.map(metricKey);
    case "QueryClassQuota":
      return clientKeys(config);
    case "EventCatalog":
      return config.types.map(eventTypeKey);
  }
}

function digestOf(base64: string): string {
  return createHash("sha256").update(Buffer.from(base64, "base64")).digest("hex");
}

const identityField = "metadata.name";

function identityKey({ kind, metadata: { namespace, name } }: Identity): UniqueKey {
  return { name: `object/${kind}/${namespace}/${name}`, field: identityField, reason: "Conflicted", what: "the name" };
}

function signingKeyKey(index: number, digest: string): UniqueKey {
  const field = `spec.signing.keys[${index}].secretRef`;
  return { name: `key/${digest}`, field, reason: "SharedSigningKey", what: "the signing key" };
}

function metricKey({ id }: { readonly id: string }, index: number): UniqueKey {
  return { name: `metric/${id}`, field: `spec.metrics[${index}].id`, reason: "Conflicted", what: `the metric ${id}` };
}

function eventTypeKey({ type }: { readonly type: string }, index: number): UniqueKey {
  const field = `spec.types[${index}].type`;
  return { name: `event-type/${type}`, field, reason: "Conflicted", what: `the event type ${type}`, eventType: type };
}

interface ClassClients {
  readonly class: string;
  readonly clients: readonly { readonly clientId?: string; readonly scope?: string }[];
}

function clientKeys({ class: queryClass, clients }: ClassClients): readonly UniqueKey[] {
  if (clients.length === 0) {
    const what = `the default of class ${queryClass}`;
    return [{ name: `class/${queryClass}`, field: "spec.class", reason: "Conflicted", what }];
  }
  return clients.map(({ clientId, scope }, index) => {
    const [noun, value] =
      clientId === undefined ? (["scope", scope ?? ""] as const) : (["clientId", clientId] as const);
    const field = `spec.clients[${index}].${noun}`;
    return { name: `${noun}/${value}`, field, reason: "Conflicted", what: `the ${noun} ${value}` };
  });
}

/**
 * Gives each unique key to the first holder in the given order (oldest first). A holder that finds one of its keys
 * taken gets none, so that the next holder may get them; a catalog gets its other event types. Returns the problems of
 * the holders without all keys.
 *
 * @param inForceOf keys that an object without an age holds already: no other such object takes them
 */
export function resolveConflicts<C extends KeyHolder>(
  holders: readonly C[],
  inForceOf: (holder: C) => readonly string[] = () => [],
): ReadonlyMap<C, readonly ConflictProblem[]> {
  const alone = conflictsOf(holders, new Map());
  if (alone.size === 0) return alone;
  const inForce = holders.map((holder) => [holder, inForceOf(holder)] as const);
  for (const dropped = new Set<C>(); ;) {
    const entitled = new Map(
      inForce.flatMap(([holder, names]) => (dropped.has(holder) ? [] : names.map((name) => [name, holder] as const))),
    );
    const conflicts = conflictsOf(holders, entitled);
    // One that loses its keys to another object frees them for the next.
    const losers = [...new Set(entitled.values())].filter((holder) => losesAll(conflicts.get(holder)));
    if (losers.length === 0) return conflicts;
    for (const loser of losers) dropped.add(loser);
  }
}

function conflictsOf<C extends KeyHolder>(
  holders: readonly C[],
  entitled: ReadonlyMap<string, C>,
): ReadonlyMap<C, readonly ConflictProblem[]> {
  const owners = new Map<string, C>();
  const out = new Map<C, readonly ConflictProblem[]>();
  for (const holder of holders) {
    const problems = holder.uniqueKeys.flatMap((uniqueKey) => {
      const owner = owners.get(uniqueKey.name);
      if (owner !== undefined) return [conflictOf(uniqueKey, owner, whyFirst(owner, holder))];
      const other = holder.isAgeless === true ? entitled.get(uniqueKey.name) : undefined;
      return other === undefined || other === holder ? [] : [conflictOf(uniqueKey, other, "is in force already")];
    });
    if (problems.length > 0) out.set(holder, problems);
    if (losesAll(problems)) continue;
    const lost = new Set(problems.map(({ eventType }) => eventType));
    for (const { name, eventType } of holder.uniqueKeys)
      if (!owners.has(name) && (eventType === undefined || !lost.has(eventType))) owners.set(name, holder);
  }
  return out;
}

/** True for a conflict that leaves a holder without any of its keys. */
function losesAll(problems: readonly ConflictProblem[] = []): boolean {
  return problems.some(({ eventType }) => eventType === undefined);
}

/**
 * Why a holder has a key that another one wants too. Only an object without an age loses to another one without an age.
 * Offline checks cannot know what a running program has in force, so the message names both.
 */
function whyFirst(owner: KeyHolder, { resource: { metadata } }: KeyHolder): string {
  const { namespace, name } = owner.resource.metadata;
  if (owner.isAgeless !== true) return "is older";
  if (namespace === metadata.namespace && name === metadata.name) return "comes first";
  return `comes first by namespace and name, unless ${metadata.namespace}/${metadata.name} is in force already`;
}

function conflictOf(
  { field, reason, what, eventType }: UniqueKey,
  { resource: { kind, metadata } }: KeyHolder,
  why: string,
): ConflictProblem {
  const message = `${what} belongs to ${kind} ${metadata.namespace}/${metadata.name}, which ${why}`;
  return { field, reason, message, ...(eventType === undefined ? {} : { eventType }) };
}
