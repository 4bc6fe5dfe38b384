import { expect, test } from "vitest";
import { random } from "../runtime/metrics/oracle/generated-series.ts";
import {
  drawFault,
  faultText,
  losesPod,
  losesServer,
  podCount,
  serverCount,
  type Fault,
  type FaultOptions,
} from "./faults.ts";

const options = { partners: ["slow", "limited"], canFillDisks: true, canStepClocks: true };
const drawnMax = 2_000;

function drawn(seed: number, changes: Partial<FaultOptions> = {}): readonly Fault[] {
  const draw = random(seed);
  return Array.from({ length: drawnMax }, () => drawFault({ ...options, ...changes }, draw));
}

const verbsOf = (faults: readonly Fault[]): ReadonlySet<string> => new Set(faults.map(({ verb }) => verb));

test("the faults of a seed are the same each time, and others for another seed", () => {
  const text = (seed: number): string => drawn(seed).map(faultText).join("\n");
  expect(text(7)).toBe(text(7));
  expect(text(7)).not.toBe(text(8));
});

test("every sort of fault is drawn, at every server, pod and partner", () => {
  const faults = drawn(1);
  expect(verbsOf(faults).size).toBe(12);
  const targets = (loses: typeof losesPod) =>
    new Set(faults.filter(loses).flatMap((fault) => ("target" in fault ? [fault.target] : [])));
  expect([targets(losesServer).size, targets(losesPod).size]).toEqual([serverCount, podCount]);
  expect(new Set(faults.flatMap((fault) => ("partner" in fault ? [fault.partner] : [])))).toEqual(
    new Set(options.partners),
  );
});

test("what this machine cannot do is never drawn", () => {
  expect(verbsOf(drawn(1, { canFillDisks: false }))).not.toContain("fill_disk");
  expect(verbsOf(drawn(1, { canStepClocks: false }))).not.toContain("step_clock");
  expect(verbsOf(drawn(1)).has("fill_disk") && verbsOf(drawn(1)).has("step_clock")).toBe(true);
});

test("a run may have some sorts of faults only", () => {
  expect(verbsOf(drawn(1, { verbs: ["kill_pod", "stop_pod"] }))).toEqual(new Set(["kill_pod", "stop_pod"]));
});

test("a pod stops for 5 to 60 seconds", () => {
  const times = drawn(3).flatMap(({ verb, ms }) => (verb === "stop_pod" ? [ms] : []));
  expect(Math.min(...times)).toBeGreaterThanOrEqual(5_000);
  expect(Math.max(...times)).toBeLessThanOrEqual(60_000);
  expect(Math.max(...times)).toBeGreaterThan(50_000);
});
