import { headers as newHeaders, type Msg } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { encodeHeaders, firstValues, readHeaders } from "../../../../runtime/nats/messages/headers.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";

let server: NatsServerHandle;
let handle: NatsConnectionHandle;
beforeAll(async () => {
  server = await startNatsServer();
  handle = await connectNats({ servers: [server.url] });
});
afterAll(async () => {
  await handle.drain();
  await server.stop();
});

type Fields = readonly (readonly [name: string, value: string])[];

/** The messages as they come back through the server, all at once, so that several share one read. */
async function sent(
  messages: readonly { readonly fields: Fields; readonly payload: string; readonly reply?: string }[],
): Promise<readonly Msg[]> {
  const got: Msg[] = [];
  const subscription = handle.connection.subscribe("headers.*", { callback: (_, message) => void got.push(message) });
  await handle.connection.flush();
  for (const [index, { fields, payload, reply }] of messages.entries()) {
    const own = newHeaders();
    fields.forEach(([name, value]) => own.append(name, value));
    const options = { ...(fields.length === 0 ? {} : { headers: own }), ...(reply === undefined ? {} : { reply }) };
    handle.connection.publish(`headers.${index}`, payload, options);
  }
  await waitFor(() => got.length === messages.length, { timeoutMs: 20_000, what: "every message" });
  subscription.unsubscribe();
  return got;
}

/** A message whose headers the client must not be asked for. */
function unasked(message: Msg): Msg {
  return Object.create(message, { headers: { get: () => expect.unreachable("the client was asked") } }) as Msg;
}

describe("headers of a message", () => {
  test("equal those of the client", async () => {
    const messages = await sent([
      {
        fields: [
          ["Hg-Event", "evt-1"],
          ["Hg-Step", "0:1:0"],
        ],
        payload: "body",
      },
      {
        fields: [
          ["hg-lower", "a"],
          ["HG-UPPER", "b"],
          ["x", ""],
        ],
        payload: "",
      },
      {
        fields: [
          ["Twice", "first"],
          ["Twice", "second"],
        ],
        payload: "x",
        reply: "inbox.1",
      },
      {
        fields: [
          ["Spaces", "  in  the  middle "],
          ["Colon", "a: b:c"],
          ["Like", "NATS/1.0"],
        ],
        payload: "y",
      },
      { fields: [["Text", "Grüße, 世界"]], payload: "NATS/1.0\r\nNot: a header\r\n\r\n" },
      { fields: [], payload: "none" },
      { fields: [], payload: "", reply: "inbox.2" },
      { fields: [["Long", "v".repeat(40_000)]], payload: "z".repeat(300_000) },
    ]);
    for (const message of messages) expect(readHeaders(unasked(message))).toEqual(firstValues(message.headers ?? []));
    expect(readHeaders(unasked(messages[2] as Msg))).toEqual({ Twice: "first" });
  });

  test("are read as they were encoded", async () => {
    const fields = { "Hg-Event": "evt-1", "Hg-Type": "a.b", "Hg-Producer": undefined, "Hg-Accepted": "17" };
    const got: Msg[] = [];
    const subscription = handle.connection.subscribe("encoded", {
      max: 1,
      callback: (_, message) => void got.push(message),
    });
    handle.connection.publish("encoded", "body", { headers: encodeHeaders(fields) });
    const message = await waitFor(() => got[0], { timeoutMs: 20_000, what: "the message" });
    subscription.unsubscribe();
    expect(readHeaders(message)).toEqual({ "Hg-Event": "evt-1", "Hg-Type": "a.b", "Hg-Accepted": "17" });
  });

  test("are read through the client when their start is unknown", () => {
    const own = newHeaders();
    own.append("A", "1");
    const message = { subject: "s", data: new Uint8Array(), headers: own } as unknown as Msg;
    expect(readHeaders(message)).toEqual({ A: "1" });
  });
});
