import { expect, test } from "vitest";
import { scannedMessage, type ScannedMessage } from "../../../runtime/nats/messages/header-scan.ts";
import { noAttempts } from "../../../runtime/preview/attempt-changes.ts";
import { noMatches } from "../../../runtime/preview/match-changes.ts";
import { configIdentity } from "../../../runtime/preview/preview-effect.ts";
import type { PreviewJob, PreviewWindow } from "../../../runtime/preview/preview-job.ts";
import { runPreview, stepEventsMax, type RunDeps } from "../../../runtime/preview/run-preview.ts";
import { eventHeaders } from "../../../runtime/webhooks/records/event-record.ts";
import { clientMessage } from "../nats/messages/client-message.ts";
import { configOf, partnerConfig } from "../webhooks/engine-fixture.ts";

const config = configOf(partnerConfig("one", "https://one.example/hooks"));

/** Events stored at these times, the first with sequence 1. */
function stored(timesMs: readonly number[]): readonly ScannedMessage[] {
  return timesMs.map((storedAtMs, place) => {
    const envelope = { eventId: `e-${place}`, type: "payout.done", version: "1", ts: "", tenant: "acme" };
    const fields = eventHeaders(envelope, "nonce");
    return scannedMessage(clientMessage({ subject: "hg.evt.acme.hash", fields, seq: place + 1, storedAtMs }));
  });
}

/** The last state of a preview of these events, without an edit. */
async function previewed(timesMs: readonly number[], window: PreviewWindow): Promise<PreviewJob> {
  const messages = stored(timesMs);
  let next = 0;
  const deps: RunDeps = {
    config: () => config,
    scan: async () => ({
      next: async (countMax) => messages.slice(next, (next += countMax)),
      close: async () => undefined,
    }),
    attempts: async () => [],
    save: async () => undefined,
    rejectsUndeclared: false,
    isOwner: () => true,
    ending: new AbortController().signal,
  };
  const base = configIdentity(config);
  const effect = { added: [], removed: [], changed: [], unchanged: 1, refused: [], unnamed: [] };
  const job = {
    id: "p",
    createdAt: "2026-01-01T00:00:00.000Z",
    client: "c",
    tenants: ["*"],
    prune: false,
    restarts: 0,
  };
  const begun = { ...job, status: "queued", base, effect, window, cursor: 0, tally: noMatches() } as const;
  return runPreview(deps, { ...begun, attempts: noAttempts() }, { resources: [], prune: false });
}

const many = Array.from({ length: stepEventsMax + 3 }, () => 10);

test.each([
  ["every stored event", [10, 20, 30], { lastSeq: 3 }, 3, 4],
  ["no event that is stored later", [10, 20, 30], { lastSeq: 2 }, 2, 3],
  ["no event from the end on", [10, 20, 30], { lastSeq: 3, toMs: 20 }, 1, 2],
  ["no event behind the end, whatever time it has", [10, 40, 15], { lastSeq: 3, toMs: 40 }, 1, 2],
  ["the events of two steps", many, { lastSeq: many.length }, many.length, many.length + 1],
  ["a step that the last event ends", many, { lastSeq: stepEventsMax }, stepEventsMax, stepEventsMax + 1],
])("counts %s", async (_, timesMs, window, events, cursor) => {
  const { status, tally, cursor: last } = await previewed(timesMs, { fromMs: 0, ...window });
  expect({ status, events: tally.events, before: tally.before, last }).toEqual({
    status: "completed",
    events,
    before: events,
    last: cursor,
  });
});
