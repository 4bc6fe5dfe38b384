import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createLayout,
  laneConsumer,
  laneQueues,
  parseDeadLetterSubject,
  parseDelivery,
  parseEvent,
  parseLaneConsumer,
} from "../../../runtime/nats/layout.ts";

const prefix = fc.stringMatching(/^[a-z][a-z0-9]{0,15}$/u);
const token = fc.stringMatching(/^[\w-]{1,22}$/u);
const queue = fc.constantFrom(...laneQueues);

describe("a subject is parsed into the tokens it was built from", () => {
  test("of an event and of its attempts", () => {
    fc.assert(
      fc.property(prefix, token, token, (name, tenant, idhash) => {
        const layout = createLayout(name);
        expect(parseEvent(layout.event(tenant, idhash))).toEqual({ tenant, idhash });
        expect(parseEvent(layout.attempts(tenant, idhash))).toEqual({ tenant, idhash });
      }),
    );
  });

  test("of a delivery in a lane or on a schedule", () => {
    fc.assert(
      fc.property(prefix, token, token, token, (name, lane, partner, did) => {
        const layout = createLayout(name);
        const tokens = { lane, partner, did };
        expect(parseDelivery(layout.firstAttempt(lane, partner, did))).toEqual({ place: "first", ...tokens });
        expect(parseDelivery(layout.retry(lane, partner, did))).toEqual({ place: "retry", ...tokens });
        expect(parseDelivery(layout.schedule(partner, did))).toEqual({ place: "schedule", partner, did });
      }),
    );
  });

  test("of a dead letter", () => {
    fc.assert(
      fc.property(prefix, token, token, token, (name, partner, reason, did) => {
        const subject = createLayout(name).deadLetter(partner, reason, did);
        expect(parseDeadLetterSubject(subject)).toEqual({ partner, reason, did });
        expect([parseDeadLetterSubject(`${subject}.x`), parseEvent(subject), parseDelivery(subject)]).toEqual([
          undefined,
          undefined,
          undefined,
        ]);
      }),
    );
  });

  test("in another lane it stays in its queue", () => {
    fc.assert(
      fc.property(prefix, queue, token, token, token, (name, place, lane, partner, did) => {
        const layout = createLayout(name);
        const subject = place === "first" ? layout.firstAttempt("l0", "p", "d") : layout.retry("l0", "p", "d");
        expect(parseDelivery(layout.sameQueue(subject, lane, partner, did))).toEqual({ place, lane, partner, did });
      }),
    );
  });

  test("of a lane's consumer", () => {
    fc.assert(
      fc.property(queue, token, (of, lane) => {
        expect(parseLaneConsumer(laneConsumer(of, lane))).toEqual({ queue: of, lane });
      }),
    );
  });
});

test.each(["", "hg", "hg.evt.acme", "hg.evt.acme.hash.more", "hg.dlq.partner.reason.did", "hg.pod.pod-a"])(
  "the subject %j is neither an event's nor a delivery's",
  (subject) => {
    expect([parseEvent(subject), parseDelivery(subject)]).toEqual([undefined, undefined]);
  },
);

test.each(["hg.dlv.lane.partner", "hg.dlr.lane.partner.did.more", "hg.sch.partner", "hg.sch.a.b.c"])(
  "the subject %j has too few or too many tokens for a delivery",
  (subject) => {
    expect(parseDelivery(subject)).toBeUndefined();
  },
);

test.each(["router", "firsts-lane", "lane"])("the consumer %j is no lane's", (name) => {
  expect(parseLaneConsumer(name)).toBeUndefined();
});
