import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { deliveryStates } from "../../../../runtime/webhooks/history/delivery-histories.ts";
import type { EventReads } from "../../../../runtime/webhooks/history/event-reads.ts";
import type { EventQuery } from "../../../../runtime/webhooks/history/event-query.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { runsOf } from "../../../support/soak.ts";
import {
  indexCase,
  partnerNames,
  randomEvents,
  seededRandom,
  tenantNames,
  type IndexCase,
} from "./event-index-setup.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const seed = 20_261_123;
const total = 100;
const everything: EventQuery = { tenants: ["*"], fromMs: 0, toMs: Infinity, limit: 200 };

async function allIds(reads: EventReads, query: EventQuery): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let place: Pick<EventQuery, "afterSeq" | "beforeSeq"> = {}; ;) {
    const { items, nextSeq } = await reads.events({ ...query, ...place });
    ids.push(...items.map(({ event_id: id }) => id));
    if (nextSeq === undefined) return ids;
    place = query.order === "desc" ? { beforeSeq: nextSeq } : { afterSeq: nextSeq };
  }
}

async function filled(context: TestContext, eventCount: number, rowsMax?: number): Promise<IndexCase> {
  const setup = await indexCase(server.url, context, rowsMax);
  await setup.store(randomEvents(eventCount, seededRandom(seed), Date.now()));
  return setup;
}

const filters: fc.Arbitrary<Partial<EventQuery>> = fc.record(
  {
    tenants: fc.constantFrom(["acme"], ["globex"], ["*"], [...tenantNames]),
    partners: fc.subarray(["default/one", "default/two", "default/nobody"]),
    type: fc.constantFrom("payout.*", "order.made", "**"),
    partner: fc.constantFrom(...partnerNames.map((name) => `default/${name}`), "default/nobody"),
    state: fc.constantFrom(...deliveryStates),
    status: fc.constantFrom({ min: 503, max: 503 }, { min: 500, max: 599 }, { min: 0, max: 0 }, { min: 200, max: 200 }),
    reason: fc.constantFrom("status_503", "status_404", "connect_timeout", "not_permitted"),
    limit: fc.constantFrom(7, 50, 200),
  },
  { requiredKeys: [] },
);

test("the newest first are the oldest first in reverse, under every filter, whatever the index holds", async (context) => {
  const { pods, indexes, writer, store } = await filled(context, total);
  const write = writer();
  const more = randomEvents(20, seededRandom(seed + 1), Date.now());
  const compare = () =>
    fc.assert(
      fc.asyncProperty(filters, fc.nat({ max: 1 }), async (filter, pod) => {
        const query = { ...everything, ...filter };
        const reads = pods[pod] ?? pods[0];
        const [newest, oldest] = [await allIds(reads, { ...query, order: "desc" }), await allIds(pods[0], query)];
        expect(newest).toEqual(oldest.toReversed());
      }),
      { numRuns: runsOf(100), seed },
    );
  // First without an index, then with one, then with one that lacks events.
  await compare();
  await write();
  expect((await indexes[0].read()).columns.events.end).toBe(total);
  await compare();
  await store(more.map((event) => ({ ...event, eventId: `more-${event.eventId}` })));
  await compare();
});
