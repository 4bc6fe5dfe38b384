import { expect, test } from "vitest";
import type { NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { NoReplyError } from "../../../../runtime/nats/connection/requests.ts";
import { callJetStream, JetStreamApiError } from "../../../../runtime/nats/copy/jetstream-api.ts";

/** A connection whose requests have these outcomes in order. */
function scripted(...outcomes: readonly (string | Error)[]): NatsConnectionHandle {
  const left = [...outcomes];
  const request = async (): Promise<Uint8Array> => {
    const outcome = left.shift() ?? new Error("no more requests");
    if (outcome instanceof Error) throw outcome;
    return Buffer.from(outcome);
  };
  return { requests: { request } } as unknown as NatsConnectionHandle;
}

const subject = "$JS.API.STREAM.INFO.S";
const unreceived = new NoReplyError(subject, "no_responders");

test("a call that nobody received is made again, for a server that enables JetStream has no API yet", async () => {
  const handle = scripted(unreceived, unreceived, '{"config":{"name":"S"}}');
  expect(await callJetStream(handle, "STREAM.INFO.S")).toEqual({ config: { name: "S" } });
});

test("a call that may have had its effect is made once", async () => {
  const unanswered = new NoReplyError(subject, "timeout");
  await expect(callJetStream(scripted(unanswered), "STREAM.DELETE.S")).rejects.toBe(unanswered);
  const refusal = '{"error":{"code":503,"err_code":10008,"description":"temporarily unavailable"}}';
  await expect(callJetStream(scripted(refusal), "STREAM.DELETE.S")).rejects.toThrow(JetStreamApiError);
});
