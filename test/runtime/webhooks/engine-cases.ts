import type { TestContext } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import type { NatsConnectionHandle } from "../../../runtime/nats/connection/connect.ts";
import { createLayout, routerConsumer, type Layout } from "../../../runtime/nats/layout.ts";
import type { Settings } from "../../../runtime/config/settings/settings.ts";
import { waitFor } from "../../support/wait.ts";
import {
  startWebhookPartner,
  type PartnerAnswer,
  type ReceivedDelivery,
  type WebhookPartnerServer,
} from "../../support/webhook-partner.ts";
import { startEngine, streamsOf, type EngineOverrides, type TestEngine } from "./engine-fixture.ts";

/** Tests may run side by side, so each cleans up its own. */
export type Cleanup = Pick<TestContext, "onTestFinished">;

/** An engine with streams of its own. */
export interface EngineCase extends TestEngine {
  readonly layout: Layout;
  readonly prefix: string;
}

/** Dependencies that a test replaces, and settings of deliveries. */
export type CaseOverrides = EngineOverrides & { readonly delivery?: Settings["delivery"] };

/** Deliveries of a removed partner end at once. */
export const removedAtOnce = { delivery: { removedAfterSeconds: 0 } } as const;

let count = 0;

/** Starts an engine that ends with its test. @param url of a server that the file's tests share */
export async function engineCase(
  url: string,
  { onTestFinished }: Cleanup,
  config: RuntimeConfig,
  overrides: CaseOverrides = {},
): Promise<EngineCase> {
  count += 1;
  const prefix = `t${count}`;
  const { delivery, ...deps } = overrides;
  const engine = await startEngine(url, config, { settings: streamsOf(prefix, delivery), ...deps });
  onTestFinished(engine.stop);
  return { ...engine, prefix, layout: createLayout(prefix) };
}

/** Starts a recipient that ends with its test. */
export async function partnerServer(
  { onTestFinished }: Cleanup,
  answer?: (delivery: ReceivedDelivery) => PartnerAnswer | Promise<PartnerAnswer>,
): Promise<WebhookPartnerServer> {
  const partner = await startWebhookPartner(answer);
  onTestFinished(() => partner.close());
  return partner;
}

/**
 * Waits until no delivery waits or is under way.
 *
 * @param by whose connection asks. @default the engine's own
 */
export async function untilEmpty(
  { nats: own, layout }: EngineCase,
  timeoutMs: number,
  { nats }: Pick<TestEngine, "nats"> = { nats: own },
): Promise<void> {
  await waitFor(() => isEmpty(nats, layout), { timeoutMs, what: "an empty queue" }).catch(async (cause: unknown) => {
    throw new Error(`not empty: ${await describeQueue(nats, layout)}`, { cause });
  });
}

const describedMax = 20;

/** What is stored of deliveries, and what the consumers have of it. */
async function describeQueue({ manager }: NatsConnectionHandle, { streams }: Layout): Promise<string> {
  const { state } = await manager.streams.info(streams.deliveries, { subjects_filter: ">" });
  const consumers: unknown[] = [];
  for (const stream of [streams.events, streams.deliveries])
    for await (const one of manager.consumers.list(stream)) {
      const { name, num_pending, num_ack_pending, num_redelivered, num_waiting, paused, delivered, ack_floor } = one;
      if (num_pending + num_ack_pending === 0) continue;
      consumers.push({
        name,
        num_pending,
        num_ack_pending,
        num_redelivered,
        num_waiting,
        paused,
        delivered,
        ack_floor,
      });
    }
  const subjects = Object.entries(state.subjects ?? {}).slice(0, describedMax);
  return JSON.stringify({
    messages: state.messages,
    now: new Date(),
    subjects,
    consumers: consumers.slice(0, describedMax),
  });
}

/** Whether every event is routed or ended, and no delivery is stored. */
export async function isEmpty({ manager }: NatsConnectionHandle, layout: Layout): Promise<boolean> {
  const { num_pending, num_ack_pending } = await manager.consumers.info(layout.streams.events, routerConsumer);
  const { messages } = (await manager.streams.info(layout.streams.deliveries)).state;
  return num_pending + num_ack_pending + messages === 0;
}
