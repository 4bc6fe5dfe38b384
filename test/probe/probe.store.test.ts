import { afterAll, beforeAll, expect, test } from "vitest";
import { isSoak } from "../support/soak.ts";
import { startInstallation, type Installation } from "./installation.ts";
import { runProbe } from "./run-probe.ts";

const seed = Number(process.env["HELIOGRAPH_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const seconds = Number(process.env["HELIOGRAPH_PROBE_SECONDS"] ?? (isSoak ? 3_600 : 50));

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation(seed);
}, 120_000);
afterAll(async () => installation?.stop(), 60_000);

test(
  `every answer of ${seconds} s equals its stores within its lifetime and says so truly, seed ${seed}`,
  { retry: 0, timeout: (seconds + 120) * 1_000 },
  async () => {
    process.stdout.write(`HELIOGRAPH_SEED=${seed} HELIOGRAPH_PROBE_SECONDS=${seconds}\n`);
    const { wrong, ...report } = await runProbe(installation, { seed, forMs: seconds * 1_000 });
    process.stdout.write(`${JSON.stringify({ seed, seconds, ...report }, null, 2)}\n`);
    expect(wrong).toEqual([]);
    // A run that compares little, or only what never changes, shows nothing.
    expect(report.counts["points"]).toBeGreaterThan(seconds * 50);
    expect(report.counts["open"]).toBeGreaterThan(seconds);
    expect(report.counts["exemplars"]).toBeGreaterThan(0);
  },
);
