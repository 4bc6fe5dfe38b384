import { expect, test } from "vitest";
import { deadLetterOf } from "../../../../runtime/webhooks/records/dead-letter-record.ts";
import { readChunk, type ReadDeps } from "../../../../runtime/webhooks/replay/read-chunk.ts";
import { compiled, firstAttempt } from "../memory-context.ts";

const fromStart = { id: "r1", filter: { partners: [], types: [], onlyFailed: false }, tenants: ["*"], cursor: 1 };

test("a redriven delivery continues the numbers of its dead letter, even after the attempts have expired", async () => {
  const partner = compiled("one");
  const delivery = { ...firstAttempt(partner.key, "did-1"), generation: 4, attempt: 2, attemptsBefore: 15 };
  const { payload } = deadLetterOf({
    delivery,
    partner,
    state: "dead",
    reason: "status_500",
    endedAtMs: 0,
    attempts: [],
    body: Buffer.from("{}"),
  });
  const message = { subject: "t.dlq", seq: 1, storedAtMs: 0, headers: {}, data: Buffer.from(payload) };
  const deadLetters = { list: async (key: string) => (key === partner.key ? [message] : []) };
  const deps = { deadLetters, partners: () => [partner] } as unknown as ReadDeps;
  const source = { kind: "dead_letters", partner: partner.key, reason: "*", lastSeq: 1 } as const;
  const { units } = await readChunk(deps, { ...fromStart, source }, 8);
  expect(units).toMatchObject([{ eventId: "e-1", deadLetter: { generation: 4, number: 17 } }]);
});
