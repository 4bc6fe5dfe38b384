import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { EventHistory } from "../../api/histories.ts";
import type { Preview } from "../../api/previews.ts";
import type { EventDryRun, EventExplanation } from "../../api/partner-health.ts";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { waitFor } from "../support/wait.ts";
import { selectingPartner } from "./manifests.ts";
import type { User } from "./user.ts";

/** The suite's installation, which is there once its tests run. */
interface Suite {
  readonly user: User;
  /** A signing key that the partner program knows. */
  readonly selectingKey: { readonly id: string; readonly secret: string };
}

const responseMsMax = 120_000;
const example = join(import.meta.dirname, "..", "..", "docs", "examples", "event-catalog.yaml");
/** The version that the example declares. */
const version = "2026-01-31";
const undeclared = "2026-01-01";
/** Time before a preview whose events it reads. */
const windowMs = 60_000;

/** A first catalog of the type, which permits smaller amounts than producers send. */
function limitedCatalog(namespace: string): object {
  const schema = { type: "object", properties: { amount_minor: { type: "integer", maximum: 5_000 } } };
  return {
    apiVersion: "heliograph.dev/v1alpha1",
    kind: "EventCatalog",
    metadata: { name: "payouts", namespace },
    spec: {
      owner: "team-payouts",
      types: [{ type: "payout.processed", description: "A payout.", versions: [{ version: undeclared, schema }] }],
    },
  };
}

/** Contracts of events: which ones are accepted, and which part of them a partner receives. */
export function describeEvents(suite: () => Suite): void {
  describeOnCluster("events of the installed product", () => {
    test("must match the published schema of their type, also after an incompatible edit of it", async () => {
      const { user } = suite();
      const statusOf = async (id: string, amount: number): Promise<number> =>
        (await user.post(id, version, { status: "processed", amount_minor: amount })).status;
      await user.kubectl(["apply", `--filename=${example}`]);
      onTestFinished(async () => {
        await user.kubectl(["delete", "eventcatalog/payouts"]);
      });
      await user.programmed(["eventcatalog/payouts"]);
      expect(await condition("Ready")).toBe("True Ready");
      const read = async (path: string): Promise<unknown> => JSON.parse((await user.look(path, true)).text);
      expect(await read("/webhooks/types?prefix=payout.processed")).toMatchObject({
        data: [{ type: "payout.processed", state: "Active", versions: [{ version }] }],
      });
      expect(await read("/webhooks/asyncapi")).toMatchObject({
        asyncapi: "3.0.0",
        channels: { "payout.created": {}, "payout.processed": { messages: { [version]: {} } } },
      });
      expect(await user.post("negative", version, { status: "processed", amount_minor: -1 })).toMatchObject({
        status: 422,
        body: { code: "invalid_data", errors: [{ field: "data.amount_minor" }] },
      });
      expect(await statusOf("declared", 5)).toBe(202);
      const narrower = {
        op: "replace",
        path: "/spec/types/0/versions/0/schema/properties/amount_minor/minimum",
        value: 10,
      };
      await user.kubectl(["patch", "eventcatalog/payouts", "--type=json", "--patch", JSON.stringify([narrower])]);
      const isRejected = async (): Promise<boolean> => (await condition("Accepted")) === "False Incompatible";
      await waitFor(isRejected, { timeoutMs: responseMsMax, pollMs: 100, what: "Accepted to be Incompatible" });
      expect([await statusOf("still-declared", 5), await statusOf("still-negative", -1)]).toEqual([202, 422]);
    });

    test("that an edited catalog would reject are named before it is applied", async () => {
      const { user } = suite();
      const from = new Date(Date.now() - windowMs).toISOString();
      expect((await user.post("too-large", undeclared, { amount_minor: 7_777 })).status).toBe(202);
      expect(await deliveredTo("too-large")).toEqual([`${user.namespace}/partner`]);
      const { status, body } = await user.postTo("/v1/preview", { from, resources: [limitedCatalog(user.namespace)] });
      expect(status).toBe(202);
      const { events } = await completed((body as Preview).preview_id);
      const row = { type: "payout.processed", version: undeclared, code: "invalid_data", count: 1, ids: ["too-large"] };
      expect(events).toMatchObject({
        complete: true,
        rejected: { count: 1, types: [row] },
        partners: [{ partner: `${user.namespace}/partner`, rejected: 1 }],
      });
      expect((await user.post("as-large", undeclared, { amount_minor: 7_777 })).status).toBe(202);
    });

    test("arrive at a partner that selects them, without what it excludes, and are explained", async () => {
      const { user, selectingKey } = suite();
      await user.kubectl(["apply", "--filename=-"], selectingPartner(user.namespace, selectingKey));
      onTestFinished(async () => {
        await user.kubectl(["delete", "webhookpartner/selecting", `secret/signing-${selectingKey.id}`]);
      });
      await user.programmed(["webhookpartner/selecting"]);
      const account = "DE02120300000000202051";
      expect(await rehearsed("never-sent", 2_500)).toEqual({
        partner: "would_be_routed",
        selecting: "would_be_routed",
      });
      expect(await rehearsed("never-sent", 100)).toEqual({ partner: "would_be_routed", selecting: "matcher" });
      expect((await user.history("never-sent")).status).toBe(404);
      expect((await user.post("small", undeclared, { account })).status).toBe(202);
      expect((await user.post("large", undeclared, { account, amount_minor: 2_500 })).status).toBe(202);
      expect(await deliveredTo("large")).toEqual([`${user.namespace}/partner`, `${user.namespace}/selecting`]);
      expect(await deliveredTo("small")).toEqual([`${user.namespace}/partner`]);
      expect(await explained("small")).toEqual({ partner: "delivered", selecting: "matcher" });
      const cloudEvent = {
        specversion: "1.0",
        id: "cloud",
        source: "payouts",
        type: "payout.processed",
        version: undeclared,
        tenant: "lumen",
        time: new Date().toISOString(),
        data: { payout_id: "p-1", status: "paid", amount_minor: 100, currency: "EUR" },
      };
      expect(await user.postTo("/events", cloudEvent, "application/cloudevents+json")).toMatchObject({ status: 202 });
      expect(await deliveredTo("cloud")).toEqual([`${user.namespace}/partner`]);
      const { kept, badSignatures } = await user.received();
      expect({ kept, badSignatures }).toEqual({
        kept: { large: { payout_id: "p-1", status: "paid", amount_minor: 2_500, currency: "EUR" } },
        badSignatures: 0,
      });
    });
  });

  /** A preview, once all recorded events are judged. */
  async function completed(id: string): Promise<Preview> {
    const look = async (): Promise<Preview | undefined> => {
      const preview = JSON.parse((await suite().user.look(`/v1/preview/${id}`, true)).text) as Preview;
      return preview.status === "completed" ? preview : undefined;
    };
    return await waitFor(look, { timeoutMs: responseMsMax, pollMs: 200, what: `preview ${id} to complete` });
  }

  /** Status and reason of a condition of the example. */
  function condition(type: string): Promise<string> {
    const path = ["status", "reason"].map((field) => `{.status.conditions[?(@.type=="${type}")].${field}}`).join(" ");
    return suite().user.kubectl(["get", "eventcatalog/payouts", `--output=jsonpath=${path}`]);
  }

  /** The reasons by which an event of an amount would be routed or not, by the name of the partner. */
  async function rehearsed(id: string, amount: number): Promise<Readonly<Record<string, string>>> {
    const { user } = suite();
    const data = { payout_id: "p-1", status: "paid", amount_minor: amount, currency: "EUR" };
    const event = { event_id: id, type: "payout.processed", version: undeclared, tenant: "lumen", data };
    const path = "/events?dry_run=true";
    const { status, body } = await user.postTo(path, { ...event, ts: new Date().toISOString() });
    expect(status).toBe(200);
    return reasonsOf((body as EventDryRun).explanation);
  }

  /** The reasons by which an event was routed or not, by the name of the partner. */
  async function explained(id: string): Promise<Readonly<Record<string, string>>> {
    const { text } = await suite().user.look(`/webhooks/events/${id}?explain=true`, true);
    return reasonsOf((JSON.parse(text) as EventHistory).explanation);
  }

  function reasonsOf(explanation: EventExplanation | null | undefined): Readonly<Record<string, string>> {
    const named = ["partner", "selecting"].map((name) => {
      const found = explanation?.partners.find(({ partner }) => partner === `${suite().user.namespace}/${name}`);
      return [name, found?.reason ?? "missing"] as const;
    });
    return Object.fromEntries(named);
  }

  /** The partners of an event, once all have it. */
  async function deliveredTo(eventId: string): Promise<readonly string[]> {
    const look = async (): Promise<readonly string[]> => {
      const { deliveries = [] } = (await suite().user.history(eventId)).body;
      if (deliveries.length === 0 || deliveries.some(({ state }) => state !== "delivered"))
        throw new Error(JSON.stringify(deliveries));
      return deliveries.map(({ partner }) => partner).sort();
    };
    return await waitFor(look, { timeoutMs: responseMsMax, pollMs: 200, what: `${eventId} at its partners` });
  }
}
