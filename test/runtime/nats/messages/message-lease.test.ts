import { describe, expect, test } from "vitest";
import type { Msg } from "@nats-io/transport-node";
import type { NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { createLeaseClock } from "../../../../runtime/nats/connection/lease-clock.ts";
import { pulledMessage, type PulledMessage } from "../../../../runtime/nats/messages/pulled-message.ts";

interface Case {
  readonly message: PulledMessage;
  readonly sent: string[];
  readonly leases: ReturnType<typeof createLeaseClock>;
  readonly receive: () => PulledMessage;
  /** Lets time pass on both clocks. */
  readonly pass: (ms: number, clocks?: { readonly wall?: number; readonly local?: number }) => void;
}

/** A message that arrives right after a sign of life of the server. */
function caseOf(): Case {
  const time = { wallMs: 1_800_000_000_000, localMs: 9.25 };
  const leases = createLeaseClock(
    () => time.wallMs,
    () => time.localMs,
  );
  leases.confirmStored(leases.nowMs());
  const sent: string[] = [];
  const outbox = {
    publish: (_subject: string, payload: Uint8Array) => void sent.push(Buffer.from(payload).toString()),
  };
  const handle = { outbox, leases } as unknown as NatsConnectionHandle;
  const reply = "$JS.ACK.HG_DELIVERIES.d-lane.1.7.7.1700000000000000000.0";
  const received = { subject: "t.dlv.lane.one.did", reply, data: new Uint8Array() } as unknown as Msg;
  const receive = (): PulledMessage => pulledMessage(handle, received);
  const pass: Case["pass"] = (ms, { wall = ms, local = ms } = {}) => {
    time.wallMs += wall;
    time.localMs += local;
  };
  return { message: receive(), sent, leases, receive, pass };
}

/** What the loops of a pod do every half second. */
function alive({ message, leases, pass }: Case, halfSeconds: number): void {
  for (let count = 0; count < halfSeconds; count += 1) {
    pass(500);
    message.working();
    leases.confirmStored(leases.nowMs());
  }
}

describe("a pulled message", () => {
  test("is held for less than its acknowledgement wait, and no longer", () => {
    const it = caseOf();
    it.pass(1_499);
    expect(it.message.isHeld()).toBe(true);
    it.pass(1);
    expect(it.message.isHeld()).toBe(false);
  });

  test("is held for minutes by a process that runs", () => {
    const it = caseOf();
    alive(it, 600);
    expect(it.message.isHeld()).toBe(true);
  });

  test.each<[string, number, { wall?: number; local?: number }]>([
    ["by both clocks", 2_000, {}],
    ["while its monotonic clock stood still too", 60_000, { local: 0 }],
    ["before the wall clock was set back", 60_000, { local: 0, wall: -3_540_000 }],
  ])("is lost for good after the process stood still %s", (_sentence, ms, clocks) => {
    const it = caseOf();
    alive(it, 10);
    it.pass(ms, clocks);
    // The pod extends all that it has before it looks.
    alive(it, 10);
    expect(it.message.isHeld()).toBe(false);
  });

  test("that waited in the socket while the process stood still was never held", () => {
    const it = caseOf();
    it.pass(60_000);
    const stale = it.receive();
    it.leases.confirm(it.leases.nowMs());
    expect([stale.isHeld(), it.receive().isHeld()]).toEqual([false, true]);
  });

  test("is lost when JetStream reads no extension, though the server answers", () => {
    const it = caseOf();
    for (let count = 0; count < 4; count += 1) {
      it.pass(500);
      it.message.working();
      it.leases.confirm(it.leases.nowMs());
    }
    expect(it.message.isHeld()).toBe(false);
  });

  test("is lost when its extensions were lost with the connection", () => {
    const it = caseOf();
    for (const _ of [1, 2]) {
      it.pass(500);
      it.message.working();
    }
    it.leases.disconnect();
    it.pass(400);
    it.leases.confirmStored(it.leases.nowMs());
    expect(it.message.isHeld()).toBe(true);
    it.pass(100);
    expect(it.message.isHeld()).toBe(false);
  });

  test("is returned while it is held only, because it may be another pod's", () => {
    const it = caseOf();
    it.message.release();
    it.pass(2_000);
    it.message.release();
    it.message.ack();
    expect(it.sent).toEqual(["-NAK", "+ACK"]);
  });
});
