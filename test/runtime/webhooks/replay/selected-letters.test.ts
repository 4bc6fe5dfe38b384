import { deadLettersPerJobMax } from "../../../../api/selections.ts";
import { describe, expect, test } from "vitest";
import { deadLetterOf } from "../../../../runtime/webhooks/records/dead-letter-record.ts";
import { rowOf, DeadLetterKinds } from "../../../../runtime/webhooks/replay/dead-letter-rows.ts";
import { noTally, type ReplayJob } from "../../../../runtime/webhooks/replay/replay-job.ts";
import { createReplays, type ReplaysDeps } from "../../../../runtime/webhooks/replay/replays.ts";
import { createSelectedLetters } from "../../../../runtime/webhooks/replay/selected-letters.ts";
import type { ReplayStore } from "../../../../runtime/webhooks/replay/replay-job.ts";
import { compiled, firstAttempt, memoryContext } from "../memory-context.ts";

const partner = compiled("one");
const everyone = { client: "support", tenants: ["*"] };
const source = { kind: "selected_dead_letters", action: "redrive", lastSeq: 100_000 } as const;
const place = {
  id: "r1",
  source,
  filter: { partners: [], types: [], onlyFailed: false },
  tenants: ["*"],
  cursor: 1,
  tally: noTally,
} as unknown as ReplayJob;

/** A dead letter as the stream has it. */
function messageAt(seq: number) {
  const delivery = { ...firstAttempt(partner.key, `did-${seq}`), eventId: `e-${seq}` };
  const ended = { state: "dead", reason: "status_500", endedAtMs: seq, attempts: [], body: Buffer.from("{}") } as const;
  const { payload, headers = {} } = deadLetterOf({ ...ended, delivery, partner });
  const subject = `hg.dlq.${partner.key}.status_500.did-${seq}`;
  return { subject, seq, storedAtMs: seq, headers: headers as Record<string, string>, data: Buffer.from(payload) };
}

/** An index of the newest dead letters up to `lastSeq`, from `firstSeq` on. */
function selectedOf(firstSeq: number, lastSeq: number, isWhole: boolean) {
  const kinds = new DeadLetterKinds();
  const about = { tenant: "acme", label: partner.label, type: "payout.processed" };
  const rows = Array.from({ length: lastSeq - firstSeq + 1 }, (_, index) => {
    const seq = firstSeq + index;
    return rowOf({ partner: partner.key, reason: "status_500", did: `did-${seq}`, seq, endedAtMs: seq, about }, kinds);
  });
  const stored = (seq: number) => (seq <= lastSeq ? messageAt(seq) : undefined);
  const deadLetters = {
    at: async (seq: number) => stored(seq),
    scan: async (seq: number, countMax: number) =>
      Array.from({ length: countMax }, (_, index) => stored(seq + index)).filter((message) => message !== undefined),
    lastSeq: async () => lastSeq,
  };
  const deadLetterIndex = { read: async () => ({ rows, isWhole, lastSeq }) };
  return { deadLetters, letters: createSelectedLetters({ deadLetters, deadLetterIndex, partners: () => [partner] }) };
}

describe("the dead letters of a selection", () => {
  test("are read also where the index begins later", async () => {
    const { letters } = selectedOf(5, 9, false);
    const seqs: number[] = [];
    let chunk = { cursor: 1, isEnd: false };
    for (let reads = 0; !chunk.isEnd && reads < 20; reads += 1) {
      const read = await letters.read({ ...place, cursor: chunk.cursor }, source, 3);
      seqs.push(...read.letters.map(({ seq }) => seq));
      chunk = read;
    }
    expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test.each([
    ["of an index that has all", 1, true, {}, { matched: 9, isExact: true }],
    ["of an index that lacks older ones", 5, false, {}, { matched: 5, isExact: false }],
    ["since a time that the index has", 5, false, { fromMs: 7 }, { matched: 3, isExact: true }],
    ["up to the last one of the request", 1, true, { lastSeq: 4 }, { matched: 4, isExact: true }],
  ])("are counted %s", async (_, firstSeq, isWhole, more, expected) => {
    const { letters } = selectedOf(firstSeq, 9, isWhole);
    expect(await letters.count({ ...place, source: { ...source, ...more } })).toEqual(expected);
  });
});

test("a selection beyond the limit is counted in a dry run, and rejected with the members that narrow it", async () => {
  const count = deadLettersPerJobMax + 1;
  const { deadLetters, letters } = selectedOf(1, count, true);
  const deps = { ...memoryContext().context, deadLetters, selectedLetters: letters, partners: () => [partner] };
  const replays = createReplays(deps as unknown as ReplaysDeps, {} as ReplayStore);
  const body = (more: object): Buffer => Buffer.from(JSON.stringify({ reason: "status_500", ...more }));
  expect(await replays.redrive(body({ dry_run: true }), everyone)).toMatchObject({
    matched: count,
    complete: true,
    limit: deadLettersPerJobMax,
  });
  await expect(replays.redrive(body({}), everyone)).rejects.toMatchObject({
    code: "too_many_dead_letters",
    message: "The selection has 50001 dead letters; the maximum is 50000. Narrow it by from, partner, types.",
    errors: [{ field: "from", code: "too_many_dead_letters" }],
  });
});
