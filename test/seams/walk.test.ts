import { expect, test } from "vitest";
import { incompatibilities } from "../../crds/event-schema/incompatibilities.ts";
import { parseSchema } from "../../crds/event-schema/parse-schema.ts";
import { validateResource } from "../../crds/validate.ts";
import { random } from "../runtime/metrics/oracle/generated-series.ts";
import { keepsContested, schemaOf, specOf, type CatalogSlot } from "./catalog-walk.ts";
import {
  afterStep,
  demandOf,
  mendingSteps,
  nextStep,
  startState,
  stepText,
  type Step,
  type WalkState,
} from "./walk.ts";

const stepsMax = 2_000;

function walked(seed: number): { readonly steps: readonly Step[]; readonly state: WalkState } {
  const draw = random(seed);
  const steps: Step[] = [];
  let state = startState();
  while (steps.length < stepsMax) {
    const step = nextStep(state, draw);
    state = afterStep(state, step);
    steps.push(step);
  }
  return { steps, state };
}

test("a walk is the same for the same seed, and another for another", () => {
  const texts = (seed: number): string =>
    walked(seed)
      .steps.map((step) => stepText(step))
      .join("\n");
  expect(texts(7)).toBe(texts(7));
  expect(texts(7)).not.toBe(texts(8));
});

test("a walk holds every sort of step", () => {
  expect(new Set(walked(1).steps.map(({ verb }) => verb)).size).toBe(44);
});

test("a contested type stays with its first catalog, and a catalog without a grant is not edited", () => {
  const { steps } = walked(9);
  const states = steps.reduce<readonly WalkState[]>(
    (all, step) => [...all, afterStep(all.at(-1) ?? startState(), step)],
    [startState()],
  );
  const contested = states.filter(({ hasRival }) => hasRival === true);
  expect(contested.length).toBeGreaterThan(0);
  expect(contested.filter(({ catalogs: [first] }) => first === undefined || !keepsContested(first))).toEqual([]);
  const edited = states.flatMap(({ catalogs }, at) =>
    catalogs.flatMap(({ withheld, ...before }, index) => {
      const next = states[at + 1]?.catalogs[index];
      return withheld === undefined || next === undefined ? [] : [[before, { ...next, withheld: undefined }]];
    }),
  );
  expect(edited.length).toBeGreaterThan(0);
  expect(edited.filter(([one, other]) => JSON.stringify(one) !== JSON.stringify(other))).toEqual([]);
});

test("after the mending steps nothing is broken, withdrawn, paused or missing", () => {
  const { state } = walked(3);
  const mended = mendingSteps(state).reduce((before, step) => afterStep(before, step), state);
  expect(mendingSteps(state).length).toBeGreaterThan(0);
  expect(mendingSteps(mended)).toEqual([]);
});

test("no two partner objects of a walk have the same key", () => {
  const { steps } = walked(5);
  const firstKeys = steps.flatMap((step) =>
    "next" in step && ["rename", "move"].includes(step.verb) ? [`${step.slot} ${step.next.keys[0]}`] : [],
  );
  expect(new Set(firstKeys).size).toBe(firstKeys.length);
});

test("the demand of a state counts what its resources want, its catalogs accept and its policy grants", () => {
  const { slots, catalogs } = startState();
  const [one] = slots;
  if (one === undefined) throw new Error("no slot");
  const slot = { ...one, tenants: ["lumen", "vega"] as const, types: ["payout.*"] };
  const without = catalogs.map((catalog) => ({ ...catalog, exists: false }));
  const demand = (changed: Partial<typeof slot>, state: Partial<WalkState> = {}): number =>
    demandOf({ slots: [{ ...slot, ...changed }], withdrawn: {}, catalogs: without, undeclared: "Accept", ...state });
  expect(demand({})).toBeCloseTo((2 / 3) * (2 / 4));
  expect(demand({ types: ["**"] })).toBeCloseTo(2 / 3);
  expect(demand({}, { withdrawn: { [slot.namespace]: "vega" } })).toBeCloseTo((1 / 3) * (2 / 4));
  expect(demand({ exists: false })).toBe(0);
  expect(demand({}, { undeclared: "Reject" })).toBe(0);
  // One of nine shapes breaks every schema, and six are of the declared version and meet theirs.
  expect(demand({}, { catalogs })).toBeCloseTo((2 / 3) * (2 / 4) * (8 / 9));
  expect(demand({}, { catalogs, undeclared: "Reject" })).toBeCloseTo((2 / 3) * (2 / 4) * (6 / 9));
});

test("every catalog of a walk is valid, and each spec at fault breaks every schema of the walk", () => {
  const { steps } = walked(11);
  const catalogs = steps.flatMap((step) => ("catalog" in step && step.catalog.exists ? [step.catalog] : []));
  expect(catalogs.flatMap(({ fault: _fault, ...sound }) => problemsOf(sound))).toEqual([]);
  const faults = new Set(catalogs.map(({ fault }) => fault));
  expect(faults.size).toBe(5);
  expect(catalogs.filter((one) => one.fault === "keyword" && problemsOf(one).length === 0)).toEqual([]);
  const schemas = [0, 1, 2].map((level) => schemaOf(level));
  for (const fault of ["type", "required", "closed"] as const)
    expect(schemas.filter((schema) => differences(schema, schemaOf(0, fault)).length === 0)).toEqual([]);
});

function problemsOf(catalog: CatalogSlot): readonly unknown[] {
  const { namespace, name } = catalog;
  const spec = specOf(catalog, { get: () => Date.parse("2030-01-01") });
  const kind = { apiVersion: "heliograph.dev/v1alpha1", kind: "EventCatalog" };
  return validateResource({ ...kind, metadata: { namespace, name }, spec }).problems;
}

function differences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): readonly unknown[] {
  const [one, other] = [parseSchema(before).root, parseSchema(after).root];
  return one === undefined || other === undefined ? [] : incompatibilities(one, other);
}
