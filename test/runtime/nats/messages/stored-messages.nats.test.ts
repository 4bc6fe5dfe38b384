import { headers } from "@nats-io/transport-node";
import { expect, onTestFinished, test } from "vitest";
import { connectNats } from "../../../../runtime/nats/connection/connect.ts";
import { NoReplyError } from "../../../../runtime/nats/connection/requests.ts";
import { readLastOfEach } from "../../../../runtime/nats/messages/stored-messages.ts";
import { startNatsServer } from "../../../support/nats-server.ts";

const timeoutMs = 300;

test("a batch whose server is lost after its first message ends with an error", async () => {
  const server = await startNatsServer();
  onTestFinished(() => server.stop());
  const nats = await connectNats({ servers: [server.url] });
  onTestFinished(() => nats.drain());
  nats.connection.subscribe("$JS.API.DIRECT.GET.LOST", {
    callback: (_error, request) => {
      const fields = { "Nats-Stream": "LOST", "Nats-Subject": "a", "Nats-Sequence": "1", "Nats-Num-Pending": "1" };
      const first = headers();
      for (const [name, value] of Object.entries({ ...fields, "Nats-Time-Stamp": new Date().toISOString() }))
        first.set(name, value);
      request.respond("", { headers: first });
    },
  });
  const read = readLastOfEach(nats, "LOST", [">"], timeoutMs);
  await expect(read).rejects.toThrow(new NoReplyError("LOST", "timeout"));
});
