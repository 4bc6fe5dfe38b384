import { expect, test } from "vitest";
import { createDeliveriesStream } from "../../../runtime/nats/streams/deliveries-stream.ts";
import { createEventsStream } from "../../../runtime/nats/streams/events-stream.ts";
import { createLayout, laneConsumer, layoutVersion, routerConsumer } from "../../../runtime/nats/layout.ts";
import { assignLanes } from "../../../runtime/webhooks/partners/partner.ts";
import { readPinned } from "./pinned-text.ts";
import { recordingNats } from "./recording-nats.ts";

/** Names under which everything in NATS is found again. */

const layout = createLayout("hg");
const [partner, did] = ["p0", "d0"];

const names: Readonly<Record<string, readonly string[]>> = {
  streams: Object.values(layout.streams),
  "streams of another prefix": Object.values(createLayout("my-prefix").streams),
  buckets: Object.values(layout.buckets),
  filters: Object.values(layout.filters).flat(),
  "filters of lanes": [layout.laneFilter("first", "l0"), layout.laneFilter("retry", "l0")],
  "filters of a partner": layout.partnerFilters(partner),
  "consumers and version": [routerConsumer, laneConsumer("first", "l0"), laneConsumer("retry", "l0"), layoutVersion],
  subjects: [
    layout.indexSubject,
    layout.ingestSubject,
    layout.podSubject("pod-a"),
    layout.event("acme", "hash"),
    layout.attempts("acme", "hash"),
    layout.firstAttempt("l0", partner, did),
    layout.retry("l0", partner, did),
    layout.schedule(partner, did),
    layout.sameQueue("hg.dlv.l0.p0.d0", "l1", partner, did),
    layout.sameQueue("hg.dlr.l0.p0.d0", "l1", partner, did),
    layout.deadLetter(partner, "status_404", did),
    layout.replayMark("r0", "published", did),
    layout.usage(495_000, "pod-a-run-1", 0),
  ],
};

/** What distinguishes the six partners is the order of their tokens, and the hash that chooses a shared lane. */
function lanes(): string {
  const tokens = ["t-1", "t-2", "t-3", "Skms-Ka9cncoSV0e", "6PMAeNfeYZpJGP8a", "t-6"];
  const places = assignLanes(tokens, new Set(["t-6"]), 2);
  return tokens.map((token) => `${token} ${places.get(token)?.lane} ${places.get(token)?.lanes.join()}`).join("\n");
}

test("streams, subjects, buckets, consumers and lanes have these names", async () => {
  const nats = recordingNats();
  await createEventsStream(nats.handle, layout).ensureRouter(10);
  const router = nats.take();
  await createDeliveriesStream(nats.handle, layout).ensureConsumer({
    queue: "retry",
    lane: "l0",
    maxAckPending: 5,
    metadata: { partner: "default/one" },
  });
  const listed = Object.entries(names).map(([name, values]) => [name, values.join("\n")]);
  expect({
    ...Object.fromEntries(listed),
    lanes: lanes(),
    "router consumer": router,
    "lane consumer": nats.take(),
  }).toEqual(readPinned("layout-names.txt"));
  expect(Object.keys(layout.streams)).toHaveLength(8);
});
