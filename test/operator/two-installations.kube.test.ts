import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../support/wait.ts";
import { OperatorCluster, type Replica } from "./operator-cluster.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());

/** Writes of statuses so far. */
const statusWrites = ({ client }: Replica): number =>
  client.writes().filter(({ resource }) => resource.endsWith("/status")).length;

test("a second installation over one object names the first, writes Conflict, and leaves the status alone", async () => {
  const [shop, ops] = [await cluster.namespace(), await cluster.namespace()];
  const pods = [await cluster.pod(shop, "rt-0"), await cluster.pod(ops, "rt-0")] as const;
  await cluster.replica(shop, { runtime: { urls: [pods[0].url] } });
  await cluster.quota(shop, "desk");
  await cluster.reason(shop, "QueryClassQuota", "desk", "Ready", "Ready");

  const second = await cluster.replica(ops, { watched: [shop], runtime: { urls: [pods[1].url] } });
  const { message } = await waitFor(
    async () => {
      const { status } = await cluster.object(shop, "QueryClassQuota", "desk");
      return status?.conditions?.find(({ type, reason }) => type === "Conflict" && reason === "TwoInstallations");
    },
    { timeoutMs: 60_000, what: "the conflict to be answered" },
  );
  expect(message).toContain(`${shop}/heliograph`);
  expect(message).toContain(`${ops}/heliograph`);
  await waitFor(
    async () => (await cluster.events(shop, "desk")).filter((event) => event === "Warning Conflict").length >= 2,
    {
      timeoutMs: 60_000,
      what: "both to tell of it",
    },
  );

  await cluster.quota(shop, "desk", { class: "C" });
  await cluster.reason(shop, "QueryClassQuota", "desk", "Ready", "Ready");
  const { status } = await cluster.object(shop, "QueryClassQuota", "desk");
  expect(status).toMatchObject({ installation: `${shop}/heliograph`, observedGeneration: 2 });
  expect(statusWrites(second)).toBeLessThanOrEqual(2);
});
