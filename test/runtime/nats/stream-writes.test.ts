import { expect, test } from "vitest";
import { NoReplyError } from "../../../runtime/nats/connection/requests.ts";
import type { PublishResult } from "../../../runtime/nats/messages/publish.ts";
import { createStreamWrites, type StreamWrites } from "../../../runtime/nats/streams/stream-writes.ts";
import { ManualClock } from "../../support/manual-clock.ts";

const stored: PublishResult = { kind: "stored", seq: 1 };
const refused = (code: number): PublishResult => ({ kind: "rejected", code, detail: "insufficient resources" });
const silent = (reason: "timeout" | "disconnected"): never => {
  throw new NoReplyError("evt", reason);
};

interface Case {
  readonly clock: ManualClock;
  readonly writes: StreamWrites;
  readonly done: string[];
  /** What the stream does now. */
  readonly now: { probe: () => void; publish: () => PublishResult };
}

function caseOf(hasPublish = true): Case {
  const clock = new ManualClock();
  const done: string[] = [];
  const now: Case["now"] = { probe: () => undefined, publish: () => stored };
  const probe = async (): Promise<void> => (done.push("probe"), now.probe());
  const publish = async (): Promise<PublishResult> => (done.push("publish"), now.publish());
  const stream = { name: "EV", probe, ...(hasPublish ? { publish } : {}) };
  return { clock, done, now, writes: createStreamWrites([stream], clock) };
}

const store = ({ writes }: Case, answer: () => PublishResult): Promise<unknown> =>
  writes.note("EV", async () => answer()).catch((error: unknown) => error);

test.each<[string, () => PublishResult, string | undefined]>([
  ["that stores is well", () => stored, undefined],
  ["that does not respond is not", () => silent("timeout"), "EV does not respond"],
  ["without a connection is not judged", () => silent("disconnected"), undefined],
  ["that cannot write is not well", () => refused(10_047), "EV stores nothing: insufficient resources"],
  ["that is full still works", () => refused(10_077), undefined],
  ["with another message of the id is not judged", () => ({ kind: "duplicate", seq: 1 }), undefined],
])("a stream %s", async (_sentence, answer, fault) => {
  const own = caseOf();
  await store(own, answer);
  expect(own.writes.fault).toBe(fault);
});

test("a fault ends with a message that is stored, and not with one that one server alone judged", async () => {
  const own = caseOf();
  await store(own, () => silent("timeout"));
  await store(own, () => ({ kind: "duplicate", seq: 1 }));
  await store(own, () => ({ kind: "unexpected" }));
  expect(own.writes.fault).toBe("EV does not respond");
  await store(own, () => stored);
  expect(own.writes.fault).toBeUndefined();
});

test("a stream is probed while it is idle only", async () => {
  const own = caseOf();
  await store(own, () => stored);
  await own.writes.poll();
  expect(own.done).toEqual([]);
  own.clock.advance(1_500);
  await own.writes.poll();
  await own.writes.poll();
  expect(own.done).toEqual(["probe"]);
});

test("an idle stream that is lost shows, and is well after a publish of the pod's own", async () => {
  const own = caseOf();
  own.now.probe = () => silent("timeout");
  await own.writes.poll();
  expect(own.writes.fault).toBe("EV does not respond");
  // A leader may respond before the stream stores anything.
  own.now.probe = () => undefined;
  own.now.publish = () => silent("timeout");
  await own.writes.poll();
  expect(own.writes.fault).toBe("EV does not respond");
  own.now.publish = () => stored;
  await own.writes.poll();
  expect([own.writes.fault, own.done]).toEqual([undefined, ["probe", "probe", "publish", "probe", "publish"]]);
});

test("a stream without a publish of the pod's own is well after a probe", async () => {
  const own = caseOf(false);
  await store(own, () => silent("timeout"));
  await own.writes.poll();
  expect([own.writes.fault, own.done]).toEqual([undefined, ["probe"]]);
});

test("a probe that never ends is a fault within its limit", async () => {
  const writes = createStreamWrites([{ name: "EV", probe: () => new Promise(() => undefined) }], new ManualClock());
  const startedAtMs = performance.now();
  await writes.poll();
  expect(writes.fault).toBe("EV does not respond");
  expect(performance.now() - startedAtMs).toBeLessThan(4_000);
});
