import { describe, expect, test } from "vitest";
import { PodSiblings, siblingBytesMax, siblingRequestsMax, type SiblingFrame } from "../../../runtime/pods/siblings.ts";

const names = ["pod_1", "pod_2", "pod_3"];

/** The processes of one pod whose frames pass at once. The third one does not run. */
function processesOfAPod(faults: unknown[] = []): readonly [PodSiblings, PodSiblings] {
  const all = new Map<string, PodSiblings>();
  for (const own of names.slice(0, 2)) {
    const send = (to: string, frame: SiblingFrame, sent: (error: Error | null) => void): void => {
      all.get(to)?.receive(own, structuredClone(frame));
      sent(null);
    };
    all.set(own, new PodSiblings(own, names, { send }, (error) => faults.push(error)));
  }
  const [one, two] = [...all.values()];
  if (one === undefined || two === undefined) throw new Error("a process is missing");
  for (const each of [one, two]) each.setLive(names.slice(0, 2));
  return [one, two];
}

describe("the processes of a pod", () => {
  test("know all names of their pod and those that run", () => {
    const [one] = processesOfAPod();
    expect(one.names).toEqual(names);
    expect(one.live()).toEqual(["pod_1", "pod_2"]);
    expect(one.isConnected()).toBe(true);
    one.setLive([]);
    expect(one.live()).toEqual(["pod_1"]);
    expect(one.isConnected()).toBe(false);
  });

  test("answer requests with bytes as they are", async () => {
    const [one, two] = processesOfAPod();
    two.serve("points", (message) => ({ asked: message, bytes: new Uint8Array([1, 2, 3]) }));
    expect(await one.request("pod_2", "points", { key: "k" })).toMatchObject({
      asked: { key: "k" },
      bytes: new Uint8Array([1, 2, 3]),
    });
  });

  test("publish to the handler of a topic", () => {
    const [one, two] = processesOfAPod();
    const got: unknown[] = [];
    two.serve("points", (message) => ({ length: got.push(message) }));
    one.publish("pod_2", "points", { n: 1 });
    one.publish("pod_2", "other", { n: 2 });
    one.publish("pod_3", "points", { n: 3 });
    expect(got).toEqual([{ n: 1 }]);
  });
});

describe("a request to another process fails", () => {
  test("at once when the process does not run", async () => {
    const [one] = processesOfAPod();
    await expect(one.request("pod_3", "points", {})).rejects.toThrow("the process pod_3 does not run");
  });

  test("when its handler fails, which the process reports", async () => {
    const faults: unknown[] = [];
    const [one, two] = processesOfAPod(faults);
    two.serve("points", () => {
      throw new Error("broken");
    });
    await expect(one.request("pod_2", "points", {})).rejects.toThrow("did not answer");
    expect(faults).toEqual([new Error("broken")]);
  });

  test("when the process ends meanwhile", async () => {
    const [one, two] = processesOfAPod();
    two.serve("points", () => new Promise<object>(() => undefined));
    const asked = one.request("pod_2", "points", {}, 60_000);
    one.setLive(["pod_1"]);
    await expect(asked).rejects.toThrow("the process pod_2 ended");
  });

  test("after its timeout", async () => {
    const [one, two] = processesOfAPod();
    two.serve("points", () => new Promise<object>(() => undefined));
    await expect(one.request("pod_2", "points", {}, 1)).rejects.toThrow("did not respond in time");
  });

  test("above the bounds of bytes and of open requests", async () => {
    const [one, two] = processesOfAPod();
    two.serve("points", () => new Promise<object>(() => undefined));
    const large = { bytes: new Uint8Array(siblingBytesMax) };
    await expect(one.request("pod_2", "points", large)).rejects.toThrow(/at most 4194304 are possible/u);
    const open = Array.from({ length: siblingRequestsMax }, () => one.request("pod_2", "points", {}, 60_000));
    await expect(one.request("pod_2", "points", {})).rejects.toThrow("1024 requests to processes are open");
    one.setLive([]);
    expect((await Promise.allSettled(open)).every(({ status }) => status === "rejected")).toBe(true);
  });
});
