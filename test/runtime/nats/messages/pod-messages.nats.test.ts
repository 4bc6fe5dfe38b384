import { afterEach, expect, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { createPodMessages, serveSubject } from "../../../../runtime/nats/messages/pod-messages.ts";
import { createLayout } from "../../../../runtime/nats/layout.ts";
import { NoReplyError } from "../../../../runtime/nats/connection/requests.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const layout = createLayout("hg");

const elections = ["CONSUMER", "STREAM"].map((kind) => `"$JS.EVENT.ADVISORY.${kind}.LEADER_ELECTED.>", `).join("");

/** What the runtime may do in the NATS that the chart brings. */
const permissions = `
accounts {
  HELIOGRAPH {
    jetstream: enabled
    users: [{
      user: runtime, password: secret
      permissions {
        publish {
          allow: ["hg.>", "$KV.>", "$JS.API.>", "$JS.ACK.>"]
          deny: [
            "$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.SNAPSHOT.>", "$JS.API.STREAM.RESTORE.>"
            "$JS.API.ACCOUNT.>", "$JS.API.SERVER.>", "$JS.API.META.>"
          ]
        }
        subscribe { allow: ["_INBOX.>", ${elections}"hg.in.*", "hg.pod.>"] }
        allow_responses { max: 1, expires: "10s" }
      }
    }]
  }
}
`;

async function start(config = permissions): Promise<NatsServerHandle> {
  const server = await startNatsServer({ config });
  closing.push(() => server.stop());
  return server;
}

async function connect({ url }: NatsServerHandle): Promise<NatsConnectionHandle> {
  const handle = await connectNats({ servers: [url], user: "runtime", password: "secret" });
  closing.push(() => handle.drain());
  return handle;
}

test("pods exchange messages with the rights of the bundled NATS; a request to an absent pod fails at once", async () => {
  const server = await start();
  const one = createPodMessages(await connect(server), layout, "pod-1");
  const other = createPodMessages(await connect(server), layout, "pod-2");
  const told: unknown[] = [];
  other.serve("double", (message) => ({ doubled: 2 * (message as { readonly of: number }).of }));
  other.serve("slow", async (message) => {
    await waitFor(() => told.length > 0, { timeoutMs: 20_000, what: "something that is told" });
    return { heard: message };
  });
  other.serve("note", (message) => {
    told.push(message);
    return {};
  });
  await waitFor(() => one.request("pod-2", "double", { of: 21 }), { timeoutMs: 20_000, what: "a pod that listens" });
  await expect(one.request("pod-2", "double", { of: 21 })).resolves.toEqual({ doubled: 42 });
  const slow = one.request("pod-2", "slow", { of: 1 }, 5_000);
  one.publish("pod-2", "note", { of: 2 });
  await expect(slow).resolves.toEqual({ heard: { of: 1 } });
  expect(told).toEqual([{ of: 2 }]);
  await expect(one.request("pod-3", "double", { of: 1 })).rejects.toMatchObject({ reason: "no_responders" });
  await expect(one.request("pod-2", "unheard", { of: 1 })).rejects.toBeInstanceOf(NoReplyError);
});

test("a user who may not hear of elections has a working connection", async () => {
  const handle = await connect(await start(permissions.replace(elections, "")));
  await handle.connection.flush();
  const info = await handle.connection.request("$JS.API.STREAM.NAMES", "");
  expect([handle.isConnected(), info.json()]).toMatchObject([true, { streams: null }]);
});

test("a request whose handler fails is reported, and the next one is answered", async () => {
  const server = await start();
  const faults: unknown[] = [];
  const one = createPodMessages(await connect(server), layout, "pod-1");
  const other = createPodMessages(await connect(server), layout, "pod-2", (error, topic) =>
    faults.push([topic, String(error)]),
  );
  other.serve("throws", () => {
    throw new Error("at once");
  });
  other.serve("rejects", () => Promise.reject(new Error("later")));
  other.serve("well", () => ({ ok: true }));
  await waitFor(() => one.request("pod-2", "well", {}), { timeoutMs: 20_000, what: "a pod that listens" });
  await expect(one.request("pod-2", "throws", {})).rejects.toMatchObject({ reason: "timeout" });
  await expect(one.request("pod-2", "rejects", {})).rejects.toMatchObject({ reason: "timeout" });
  expect(faults).toEqual([
    ["throws", "Error: at once"],
    ["rejects", "Error: later"],
  ]);
  await expect(one.request("pod-2", "well", {})).resolves.toEqual({ ok: true });
});

test("producers are answered with the permissions of the bundled NATS", async () => {
  const server = await start();
  const [runtime, producer] = [await connect(server), await connect(server)];
  closing.push(
    serveSubject(runtime, layout.ingestSubject, "ingest", (message) => message.respond({ tenant: message.token })),
  );
  const answer = await waitFor(() => producer.requests.request(`${layout.ingestSubject}.acme`, "{}"), {
    timeoutMs: 20_000,
    what: "an answer",
  });
  expect(JSON.parse(Buffer.from(answer).toString())).toEqual({ tenant: "acme" });
});
