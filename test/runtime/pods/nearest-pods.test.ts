import { expect, test } from "vitest";
import { nearestPods } from "../../../runtime/pods/nearest-pods.ts";
import { PodSiblings, type SiblingFrame } from "../../../runtime/pods/siblings.ts";
import { podsOfATest } from "../metrics/admission/pods-of-a-test.ts";

/** Two processes of `pod`, and the pod `far` elsewhere. */
function twoProcesses() {
  const names = ["pod_1", "pod_2"];
  const nats = podsOfATest();
  const siblings = new Map<string, PodSiblings>();
  const processes = names.map((own) => {
    const send = (to: string, frame: SiblingFrame, sent: (error: Error | null) => void): void => {
      siblings.get(to)?.receive(own, structuredClone(frame));
      sent(null);
    };
    const ownSiblings = new PodSiblings(own, names, { send });
    siblings.set(own, ownSiblings);
    ownSiblings.setLive(names);
    return nearestPods(nats.join(own), ownSiblings);
  });
  const far = nats.join("far");
  const [one, two] = processes;
  if (one === undefined || two === undefined) throw new Error("a process is missing");
  return { nats, siblings, one, two, far };
}

test("processes of a pod reach each other without NATS, and pods elsewhere through it", async () => {
  const { nats, one, two, far } = twoProcesses();
  for (const pod of [two, far]) pod.serve("topic", () => ({ from: pod.own }));
  expect(one.live()).toEqual(["far", "pod_1", "pod_2"]);
  expect(await one.request("pod_2", "topic", {})).toEqual({ from: "pod_2" });
  expect(nats.sent()).toBe(0);
  expect(await one.request("far", "topic", {})).toEqual({ from: "far" });
  expect(await far.request("pod_2", "topic", {})).toEqual({ from: "pod_2" });
  const told: unknown[] = [];
  two.serve("told", (message) => ({ count: told.push(message) }));
  one.publish("pod_2", "told", { n: 1 });
  expect(told).toEqual([{ n: 1 }]);
  expect(nats.sent()).toBe(2);
});

test("a process that ended is not alive, although its heartbeat is recent", () => {
  const { siblings, one } = twoProcesses();
  siblings.get("pod_1")?.setLive([]);
  expect(one.live()).toEqual(["far", "pod_1"]);
});

test("the live pods are one list until a process or a pod elsewhere comes or goes", () => {
  const siblings = new PodSiblings("pod_1", ["pod_1", "pod_2"], { send: () => undefined });
  let elsewhere: readonly string[] = ["far"];
  const pods = nearestPods({ ...podsOfATest().join("pod_1"), live: () => elsewhere }, siblings);
  const before = pods.live();
  expect(pods.live()).toBe(before);
  siblings.setLive(["pod_2"]);
  expect(pods.live()).toEqual(["far", "pod_1", "pod_2"]);
  elsewhere = ["far", "near"];
  expect(pods.live()).toEqual(["far", "near", "pod_1", "pod_2"]);
});

test("processes stay connected without NATS while no pod is elsewhere", () => {
  const { nats, one } = twoProcesses();
  nats.isCut = true;
  expect(one.isConnected()).toBe(false);
  nats.lose("far");
  expect(one.isConnected()).toBe(true);
});

test("the only process of a pod has the pods as they are", () => {
  const pod = podsOfATest().join("pod");
  expect(nearestPods(pod, undefined)).toBe(pod);
});
