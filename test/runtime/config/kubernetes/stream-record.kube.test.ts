import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKubeClient, type KubeClient } from "../../../../kube/client/client.ts";
import { openClusterAccess } from "../../../../kube/client/cluster-access.ts";
import { singleTry } from "../../../../kube/client/retry.ts";
import { createStreamRecord } from "../../../../runtime/config/kubernetes/stream-record.ts";
import { startKubeApi, type KubeApiHandle } from "../../../support/kube-api.ts";

const retry = singleTry(10_000);
const metrics = { requests: { inc: () => undefined } };
let api: KubeApiHandle;
let client: KubeClient;
let count = 0;
let prefix = "";

beforeAll(async () => {
  api = await startKubeApi();
  const access = await openClusterAccess({ path: api.kubeconfig });
  client = createKubeClient({ access, userAgent: "test", metrics, retry });
});

afterAll(async () => {
  await client?.close();
  await api?.stop();
});

beforeEach(() => {
  prefix = `record-${(count += 1)}`;
});

const record = () => createStreamRecord(client, "default", `${prefix}-streams`);

async function makeRecord(): Promise<void> {
  const { code, stderr } = await api.kubectl(["create", "configmap", `${prefix}-streams`]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
}

describe("the record of the streams", () => {
  test("is empty at first, and keeps the first time of each stream", async () => {
    await makeRecord();
    expect(await record().read()).toEqual(new Map());
    await record().add(new Map([["HG_EVENTS", "first"]]));
    const more = [
      ["HG_EVENTS", "second"],
      ["HG_DLQ", "first"],
    ] as const;
    await record().add(new Map(more));
    expect(await record().read()).toEqual(
      new Map([
        ["HG_EVENTS", "first"],
        ["HG_DLQ", "first"],
      ]),
    );
  });

  test("gets other times and servers from a migration", async () => {
    await makeRecord();
    await record().add(new Map([["HG_EVENTS", "first"]]));
    await record().replace(new Map([["HG_EVENTS", "copy"]]), "heliograph-nats-b");
    expect(await record().read()).toEqual(new Map([["HG_EVENTS", "copy"]]));
    const { stdout } = await api.kubectl([
      "get",
      "configmap",
      `${prefix}-streams`,
      "--output=jsonpath={.metadata.annotations.heliograph\\.dev/nats-servers}",
    ]);
    expect(stdout).toBe("heliograph-nats-b");
  });

  test("is emptied by the command of docs/how-to/install.md", async () => {
    await makeRecord();
    await record().add(new Map([["HG_EVENTS", "first"]]));
    await api.kubectl(["patch", "configmap", `${prefix}-streams`, "--type=merge", '--patch={"data":null}']);
    expect(await record().read()).toEqual(new Map());
  });

  test("is empty with a chart that does not make it", async () => {
    await record().add(new Map([["HG_EVENTS", "first"]]));
    expect(await record().read()).toEqual(new Map());
  });

  test("is not known while the API server does not answer", async () => {
    const access = {
      server: "https://127.0.0.1:1",
      namespace: "default",
      read: () => Promise.reject(new Error("away")),
    };
    const cut = createKubeClient({ access, userAgent: "test", metrics, retry });
    expect(await createStreamRecord(cut, "default", prefix).read()).toBeUndefined();
    await cut.close();
  });
});
