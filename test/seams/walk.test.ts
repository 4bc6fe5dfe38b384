import { expect, test } from "vitest";
import { random } from "../runtime/metrics/oracle/generated-series.ts";
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
  expect(new Set(walked(1).steps.map(({ verb }) => verb)).size).toBe(23);
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

test("the demand of a state counts what its resources want and its policy grants", () => {
  const { slots } = startState();
  const [one] = slots;
  if (one === undefined) throw new Error("no slot");
  const slot = { ...one, tenants: ["lumen", "vega"] as const, types: ["payout.*"] };
  const demand = (changed: Partial<typeof slot>, withdrawn: WalkState["withdrawn"] = {}): number =>
    demandOf({ slots: [{ ...slot, ...changed }], withdrawn });
  expect(demand({})).toBeCloseTo((2 / 3) * (2 / 4));
  expect(demand({ types: ["**"] })).toBeCloseTo(2 / 3);
  expect(demand({}, { [slot.namespace]: "vega" })).toBeCloseTo((1 / 3) * (2 / 4));
  expect(demand({ exists: false })).toBe(0);
});
