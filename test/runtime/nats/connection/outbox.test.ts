import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createOutbox } from "../../../../runtime/nats/connection/outbox.ts";

function recorded(isConnected = () => true) {
  const sent: string[] = [];
  const connection = { publish: (subject: string) => void sent.push(subject) };
  return { sent, outbox: createOutbox(connection, isConnected) };
}

test("an outbox sends the gathered messages in order at the end of the event loop iteration", async () => {
  const { sent, outbox } = recorded();
  outbox.publish("a", "");
  outbox.publish("b", "");
  expect(sent).toEqual([]);
  await setImmediate();
  expect(sent).toEqual(["a", "b"]);
  outbox.publish("c", "");
  await setImmediate();
  expect(sent).toEqual(["a", "b", "c"]);
});

test("an outbox sends at once at its limit, or when it is flushed", () => {
  const { sent, outbox } = recorded();
  Array.from({ length: 512 }, (_, index) => outbox.publish(String(index), ""));
  expect(sent).toHaveLength(512);
  outbox.publish("last", "");
  outbox.flush();
  expect(sent.at(-1)).toBe("last");
});

test("an outbox drops messages without a connection", async () => {
  let isConnected = false;
  const { sent, outbox } = recorded(() => isConnected);
  outbox.publish("lost", "");
  await setImmediate();
  isConnected = true;
  outbox.publish("sent", "");
  await setImmediate();
  expect(sent).toEqual(["sent"]);
});

test("an outbox sends the messages behind one that the client refuses", async () => {
  const sent: string[] = [];
  const publish = (subject: string): void => {
    if (subject === "large") throw new Error("too large");
    sent.push(subject);
  };
  const outbox = createOutbox({ publish }, () => true);
  ["a", "large", "b"].forEach((subject) => outbox.publish(subject, ""));
  await setImmediate();
  expect(sent).toEqual(["a", "b"]);
});
