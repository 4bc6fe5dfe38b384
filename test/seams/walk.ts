import {
  catalogText,
  catalogVerbs,
  changedCatalog,
  factsOf,
  keepsContested,
  mendingCatalog,
  startCatalogs,
  type CatalogSlot,
  type CatalogVerb,
} from "./catalog-walk.ts";
import {
  eventTypes,
  matcherChoices,
  payloadChoices,
  shapes,
  resultOf,
  type Matcher,
  type Payload,
  type Undeclared,
} from "./contracts.ts";
import { wants } from "./model.ts";

/** Namespaces that the operator watches; partners move between them. */
export const namespaces = ["pay", "shop"] as const;
type Namespace = (typeof namespaces)[number];

/** Tenants whose events flow. */
export const tenants = ["lumen", "north", "vega"] as const;
type Tenant = (typeof tenants)[number];

/** Choices of `subscriptions[0].types`. */
const typeChoices = [["payout.*"], ["login.*"], ["login.*", "payout.*"], ["**"]] as const;

const undeclaredChoices = ["Accept", "Warn", "Reject"] as const;

/** One of six recipients, and the partner resource that names its endpoint at this moment. */
export interface Slot {
  readonly index: number;
  readonly exists: boolean;
  readonly namespace: Namespace;
  readonly name: string;
  /** Ids of signing keys; the first signs. Each has a Secret of its own. */
  readonly keys: readonly string[];
  /** Keys made so far. */
  readonly keysMade: number;
  readonly tenants: readonly Tenant[];
  readonly types: readonly string[];
  /** Conditions on the content of events; empty without one. */
  readonly matchers: readonly Matcher[];
  /** The part of events that is sent. @default the whole event */
  readonly payload: Payload | undefined;
  readonly isPaused: boolean;
  /** The first key's `secretRef.name` names no Secret. */
  readonly hasTypo: boolean;
  /** The first key's Secret is deleted. */
  readonly lacksSecret: boolean;
  /** Changes with each edit that changes nothing else. */
  readonly maxInFlight: number;
}

/** What the resources, Secrets and the policy say. */
export interface WalkState {
  readonly slots: readonly Slot[];
  /** The tenant that the policy no longer grants to a namespace. */
  readonly withdrawn: Readonly<Partial<Record<Namespace, Tenant>>>;
  readonly catalogs: readonly CatalogSlot[];
  /** True while a younger catalog claims a type of the first one. @default false */
  readonly hasRival?: boolean;
  /** What the settings of the pods make of undeclared types. */
  readonly undeclared: Undeclared;
}

type SlotVerb =
  | "edit"
  | "subscribe"
  | "match"
  | "select"
  | "pause"
  | "resume"
  | "typo"
  | "fix_typo"
  | "take_secret"
  | "return_secret"
  | "delete"
  | "create"
  | "recreate"
  | "rename"
  | "move"
  | "rotate"
  | "retire";
type ServerVerb =
  | "kill_pod"
  | "restart_pod"
  | "kill_operator"
  | "restart_operator"
  | "kill_nats"
  | "restart_api_server";

/** One step of the walk, with all that it needs to be done again. */
export type Step =
  | { readonly verb: SlotVerb; readonly slot: number; readonly next: Slot; readonly makesFirst?: boolean }
  | { readonly verb: "withdraw" | "grant"; readonly namespace: Namespace; readonly tenant: Tenant }
  | { readonly verb: CatalogVerb; readonly catalog: CatalogSlot; readonly isWatched: boolean }
  | { readonly verb: "contest" | "yield"; readonly hasRival: boolean }
  | { readonly verb: "set_undeclared"; readonly undeclared: Undeclared }
  | { readonly verb: ServerVerb; readonly pod: number };

const slotCount = 6;

/** Each recipient has a partner that wants one tenant more than the one before. */
export function startState(): WalkState {
  const slots = Array.from({ length: slotCount }, (_, index): Slot => ({
    index,
    exists: true,
    namespace: namespaces[index % 2] ?? "pay",
    name: `partner-${index}`,
    keys: ["k1"],
    keysMade: 1,
    tenants: tenants.slice(0, 1 + (index % 3)),
    types: typeChoices[index % 3] ?? ["**"],
    matchers: [],
    payload: payloadChoices[index],
    isPaused: false,
    hasTypo: false,
    lacksSecret: false,
    maxInFlight: 8,
  }));
  return { slots, withdrawn: {}, catalogs: startCatalogs(), undeclared: "Accept" };
}

/** How often each verb is drawn where it is possible; servers are dearer than edits. */
const weights: readonly (readonly [Step["verb"], number])[] = [
  ["edit", 10],
  ["subscribe", 14],
  ["match", 5],
  ["select", 10],
  ["pause", 4],
  ["resume", 10],
  ["typo", 6],
  ["fix_typo", 10],
  ["take_secret", 8],
  ["return_secret", 12],
  ["delete", 4],
  ["create", 12],
  ["recreate", 5],
  ["rename", 5],
  ["move", 5],
  ["rotate", 8],
  ["retire", 8],
  ["withdraw", 3],
  ["grant", 6],
  ["add_field", 5],
  ["break_catalog", 7],
  ["fix_catalog", 12],
  ["drop_type", 4],
  ["declare_type", 8],
  ["drop_version", 3],
  ["declare_version", 6],
  ["deprecate", 3],
  ["sunset", 4],
  ["revive", 6],
  ["mark_field", 8],
  ["unmark_field", 5],
  ["delete_catalog", 3],
  ["create_catalog", 10],
  ["withhold_type", 4],
  ["permit_type", 8],
  ["contest", 5],
  ["yield", 2],
  ["set_undeclared", 2],
  ["kill_pod", 1],
  ["restart_pod", 1],
  ["kill_operator", 1],
  ["restart_operator", 1],
  ["kill_nats", 1.5],
  ["restart_api_server", 0.5],
];

/** The next step of a walk in this state. `random` answers numbers in [0, 1). */
export function nextStep(state: WalkState, random: () => number): Step {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  for (;;) {
    let at = random() * total;
    const [verb] = weights.find(([, weight]) => (at -= weight) < 0) ?? ["edit", 0];
    const step = stepOf(verb, state, pick);
    if (step !== undefined) return step;
  }
}

type Pick = <T>(list: readonly T[]) => T;

function stepOf(verb: Step["verb"], state: WalkState, pick: Pick): Step | undefined {
  if (verb === "withdraw" || verb === "grant") return policyStepOf(verb, state, pick);
  if (verb === "contest" || verb === "yield") return contestOf(verb, state);
  if (isServerVerb(verb)) return { verb, pod: pick([0, 1]) };
  if (verb === "set_undeclared")
    return { verb, undeclared: pick(undeclaredChoices.filter((one) => one !== state.undeclared)) };
  return isCatalogVerb(verb) ? catalogStepOf(verb, state, pick) : slotStepOf(verb, state, pick);
}

function catalogStepOf(verb: CatalogVerb, { catalogs, hasRival = false }: WalkState, pick: Pick): Step | undefined {
  const catalog = changedCatalog(verb, pick(catalogs), pick);
  if (catalog === undefined || (hasRival && catalog.index === 0 && !keepsContested(catalog))) return undefined;
  return { verb, catalog, isWatched: pick([true, false]) };
}

function contestOf(verb: "contest" | "yield", { hasRival = false, catalogs }: WalkState): Step | undefined {
  const [first] = catalogs;
  const isPossible = verb === "yield" ? hasRival : !hasRival && first !== undefined && keepsContested(first);
  return isPossible ? { verb, hasRival: verb === "contest" } : undefined;
}

function policyStepOf(verb: "withdraw" | "grant", { withdrawn }: WalkState, pick: Pick): Step | undefined {
  const namespace = pick(namespaces);
  const tenant = withdrawn[namespace];
  if ((tenant === undefined) !== (verb === "withdraw")) return undefined;
  return { verb, namespace, tenant: tenant ?? pick(tenants) };
}

function slotStepOf(verb: SlotVerb, state: WalkState, pick: Pick): Step | undefined {
  const slot = pick(state.slots);
  const next = changes[verb](slot, pick, state);
  if (next === undefined) return undefined;
  return {
    verb,
    slot: slot.index,
    next,
    ...(verb === "rename" || verb === "move" ? { makesFirst: pick([true, false]) } : {}),
  };
}

function isServerVerb(verb: Step["verb"]): verb is ServerVerb {
  return verb.startsWith("kill_") || verb.startsWith("restart_");
}

function isCatalogVerb(verb: Step["verb"]): verb is CatalogVerb {
  return (catalogVerbs as readonly string[]).includes(verb);
}

/** Whether the partner's references and rights are whole: only then its subscriptions and its first key change. */
function isSound({ exists, hasTypo, lacksSecret, namespace }: Slot, { withdrawn }: WalkState): boolean {
  return exists && !hasTypo && !lacksSecret && withdrawn[namespace] === undefined;
}

/** What each verb makes of a slot; undefined where it makes no sense. */
const changes: Readonly<Record<SlotVerb, (slot: Slot, pick: Pick, state: WalkState) => Slot | undefined>> = {
  edit: (slot) => (slot.exists ? { ...slot, maxInFlight: 1 + (slot.maxInFlight % 32) } : undefined),
  subscribe: (slot, pick, state) => {
    const wanted = tenants.filter(() => pick([true, true, false]));
    return isSound(slot, state) && wanted.length > 0
      ? { ...slot, tenants: wanted, types: pick(typeChoices) }
      : undefined;
  },
  match: (slot, pick, state) =>
    isSound(slot, state)
      ? { ...slot, matchers: pick(matcherChoices.filter((one) => one !== slot.matchers)) }
      : undefined,
  select: (slot, pick, state) =>
    isSound(slot, state) ? { ...slot, payload: pick(payloadChoices.filter((one) => one !== slot.payload)) } : undefined,
  pause: (slot) => (slot.exists && !slot.isPaused ? { ...slot, isPaused: true } : undefined),
  resume: (slot) => (slot.exists && slot.isPaused ? { ...slot, isPaused: false } : undefined),
  typo: (slot) => (slot.exists && !slot.hasTypo ? { ...slot, hasTypo: true } : undefined),
  fix_typo: (slot) => (slot.exists && slot.hasTypo ? { ...slot, hasTypo: false } : undefined),
  take_secret: (slot) => (slot.exists && !slot.lacksSecret ? { ...slot, lacksSecret: true } : undefined),
  return_secret: (slot) => (slot.lacksSecret ? { ...slot, lacksSecret: false } : undefined),
  delete: (slot) => (slot.exists ? { ...slot, exists: false } : undefined),
  create: (slot) => (slot.exists ? undefined : { ...slot, exists: true }),
  recreate: (slot) => (slot.exists ? slot : undefined),
  rename: (slot) => (slot.exists ? anew({ ...slot, name: otherName(slot) }) : undefined),
  move: (slot) => (slot.exists ? anew({ ...slot, namespace: slot.namespace === "pay" ? "shop" : "pay" }) : undefined),
  rotate: (slot, _pick, state) =>
    isSound(slot, state) && slot.keys.length === 1 ? withKey(slot, slot.keys) : undefined,
  retire: (slot) => (slot.exists && slot.keys.length === 2 ? { ...slot, keys: slot.keys.slice(0, 1) } : undefined),
};

function otherName({ index, name }: Slot): string {
  return name === `partner-${index}` ? `partner-${index}-b` : `partner-${index}`;
}

/** Another object for the same recipient: it has a key of its own, since two partners may not share one. */
function anew(slot: Slot): Slot {
  return { ...withKey(slot, []), hasTypo: false, lacksSecret: false };
}

function withKey(slot: Slot, others: readonly string[]): Slot {
  const keysMade = slot.keysMade + 1;
  return { ...slot, keysMade, keys: [`k${keysMade}`, ...others] };
}

/** The state after a step. */
export function afterStep(state: WalkState, step: Step): WalkState {
  if ("next" in step)
    return { ...state, slots: state.slots.map((slot) => (slot.index === step.slot ? step.next : slot)) };
  if ("catalog" in step) {
    const { catalog } = step;
    return { ...state, catalogs: state.catalogs.map((one) => (one.index === catalog.index ? catalog : one)) };
  }
  if ("undeclared" in step) return { ...state, undeclared: step.undeclared };
  if ("hasRival" in step) return { ...state, hasRival: step.hasRival };
  if (step.verb === "withdraw") return { ...state, withdrawn: { ...state.withdrawn, [step.namespace]: step.tenant } };
  if (step.verb !== "grant") return state;
  const { [step.namespace]: _granted, ...withdrawn } = state.withdrawn;
  return { ...state, withdrawn };
}

/** Deliveries of an event of any tenant, type and shape that the resources and the policy ask for, on average. */
export function demandOf({ slots, withdrawn, catalogs, undeclared }: WalkState): number {
  const present = catalogs.filter(({ exists }) => exists);
  const declared = Object.fromEntries(present.flatMap((one) => Object.entries(factsOf(one, { get: () => 0 }))));
  const events = tenants.flatMap((tenant) =>
    eventTypes.flatMap((type) => shapes.map((_, shape) => ({ tenant, type, shape }))),
  );
  const accepted = events.filter((event) => resultOf(event, declared, undeclared, 0) === "accepted");
  const wanted = slots.map((slot) => {
    const granted = slot.tenants.filter((tenant) => tenant !== withdrawn[slot.namespace]);
    const { exists, types, matchers } = slot;
    return exists ? accepted.filter((event) => wants({ types, matchers, tenants: granted }, event)).length : 0;
  });
  return wanted.reduce((sum, one) => sum + one, 0) / events.length;
}

/** The steps after which nothing is broken, withdrawn, paused or missing. */
export function mendingSteps(state: WalkState): readonly Step[] {
  const grants = namespaces.flatMap((namespace): readonly Step[] => {
    const tenant = state.withdrawn[namespace];
    return tenant === undefined ? [] : [{ verb: "grant", namespace, tenant }];
  });
  const catalogs = state.catalogs
    .flatMap(mendingCatalog)
    .map(({ verb, next }): Step => ({ verb, catalog: next, isWatched: true }));
  const rival: readonly Step[] = state.hasRival === true ? [{ verb: "yield", hasRival: false }] : [];
  return [...rival, ...grants, ...catalogs, ...state.slots.flatMap(mendingOf)];
}

function mendingOf(slot: Slot): readonly Step[] {
  const steps: Step[] = [];
  let now = slot;
  const mend = (verb: SlotVerb, isNeeded: boolean, change: Partial<Slot>): void => {
    if (!isNeeded) return;
    now = { ...now, ...change };
    steps.push({ verb, slot: slot.index, next: now });
  };
  mend("create", !slot.exists, { exists: true });
  mend("return_secret", slot.lacksSecret, { lacksSecret: false });
  mend("fix_typo", slot.hasTypo, { hasTypo: false });
  mend("resume", slot.isPaused, { isPaused: false });
  return steps;
}

/** One line that says what a step does. */
export function stepText(step: Step): string {
  if ("catalog" in step) return `${step.verb}: ${catalogText(step.catalog)}`;
  if ("undeclared" in step) return `${step.verb} ${step.undeclared}`;
  if ("hasRival" in step) return step.verb;
  if (!("next" in step))
    return "namespace" in step ? `${step.verb} ${step.tenant} in ${step.namespace}` : `${step.verb} ${step.pod}`;
  const {
    namespace,
    name,
    tenants: wanted,
    types,
    matchers,
    payload,
    keys,
    exists,
    isPaused,
    hasTypo,
    lacksSecret,
  } = step.next;
  const flags = Object.entries({ absent: !exists, paused: isPaused, typo: hasTypo, noSecret: lacksSecret }).filter(
    ([, is]) => is,
  );
  const order = step.makesFirst === undefined ? "" : step.makesFirst ? " (made first)" : " (deleted first)";
  const facts = [
    `keys ${keys.join(",")}`,
    `tenants ${wanted.join(",")}`,
    `types ${types.join(",")}`,
    ...matchers.map(({ pointer, op }) => `${op} ${pointer}`),
    ...(payload === undefined ? [] : [JSON.stringify(payload)]),
    ...flags.map(([flag]) => flag),
  ];
  return `${step.verb} of recipient ${step.slot}${order}: ${namespace}/${name}, ${facts.join(", ")}`;
}
