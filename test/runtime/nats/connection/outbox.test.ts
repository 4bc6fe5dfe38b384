import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createOutbox } from "../../../../runtime/nats/connection/outbox.ts";

function recorded(isConnected = () => true) {
  const sent: string[] = [];
  const connection = { publish: (subject: string) => void sent.push(subject) };
  return { sent, outbox: createOutbox(connection, isConnected) };
}

test("an outbox sends what was gathered, in order, when the turn ends", async () => {
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

test("an outbox does not wait when much was gathered, or when it is flushed", () => {
  const { sent, outbox } = recorded();
  Array.from({ length: 512 }, (_, index) => outbox.publish(String(index), ""));
  expect(sent).toHaveLength(512);
  outbox.publish("last", "");
  outbox.flush();
  expect(sent.at(-1)).toBe("last");
});

test("an outbox keeps nothing for a connection that comes back later", async () => {
  let isConnected = false;
  const { sent, outbox } = recorded(() => isConnected);
  outbox.publish("lost", "");
  await setImmediate();
  isConnected = true;
  outbox.publish("sent", "");
  await setImmediate();
  expect(sent).toEqual(["sent"]);
});

test("an outbox sends what comes behind a message that the client refuses", async () => {
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
