import { severalPods, type Half, type Stage } from "./harness/bench.ts";
import { bulk } from "./metrics/bulk.ts";
import { expressions } from "./metrics/expressions.ts";
import { facade, rules } from "./metrics/facade.ts";
import { queryMemory } from "./metrics/memory.ts";
import { fairness } from "./metrics/fairness.ts";
import { herd, miss, step, week } from "./metrics/reads.ts";
import { hot, hotPods, panels, resident as residentAfterReads, residentOne } from "./metrics/repeats.ts";
import { openMetrics, type MetricsStage } from "./metrics/stage.ts";
import { sweepMetrics, sweepPoints } from "./metrics/sweeps.ts";
import { operator } from "./operator/operator.ts";
import { contracts } from "./webhooks/contracts.ts";
import { drain } from "./webhooks/drain.ts";
import { consolePages } from "./webhooks/console.ts";
import { dead, edit, lookup, partners } from "./webhooks/growth.ts";
import { validate } from "./webhooks/validate.ts";
import { verify } from "./webhooks/verify.ts";
import { worker } from "./webhooks/worker.ts";
import { preview } from "./webhooks/preview.ts";
import { kill, slow } from "./webhooks/faults.ts";
import { firstMinute, pods, rate, resident, throughput } from "./webhooks/rates.ts";
import { openWebhooks, type WebhookStage } from "./webhooks/stage.ts";
import { sweepEvents, sweepPartners, sweepRate, sweepRetries, sweepTenants } from "./webhooks/sweeps.ts";

const webhooks: Half<WebhookStage> = {
  name: "webhooks",
  pods: 1,
  open: openWebhooks,
  parts: {
    throughput,
    first: firstMinute,
    rate,
    "webhooks-resident": resident,
    kill,
    slow,
    drain,
    pods,
    worker,
    verify,
    validate,
    partners,
    edit,
    dead,
    lookup,
    preview,
    contracts,
    console: consolePages,
    "sweep-rate": sweepRate,
    "sweep-partners": sweepPartners,
    "sweep-retries": sweepRetries,
    "sweep-tenants": sweepTenants,
    "sweep-events": sweepEvents,
  },
};

/** All of them load one program, whose memory is looked at last. */
const metrics: Half<MetricsStage> = {
  name: "metrics",
  pods: severalPods,
  open: openMetrics,
  parts: {
    hot,
    panels,
    facade,
    rules,
    step,
    miss,
    herd,
    week,
    bulk,
    "metrics-resident": residentAfterReads,
    "metrics-resident-one": residentOne,
    "hot-pods": hotPods,
    "query-memory": queryMemory,
    "sweep-points": sweepPoints,
    "sweep-metrics": sweepMetrics,
  },
};

/** A half whose stage only its own parts know. */
export type AnyHalf = Half<Stage>;

/** Everything that `make bench` runs, in this order. */
export const halves = [webhooks, metrics, expressions, fairness, operator] as unknown as readonly AnyHalf[];
