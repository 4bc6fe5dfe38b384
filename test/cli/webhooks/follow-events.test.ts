import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ApiConnection } from "../../../cli/api/connection.ts";
import { followEvents, type FollowPosition } from "../../../cli/webhooks/follow-events.ts";
import { keepPlace, rawEventOf, readPlace } from "../../../cli/partner/follow-partner.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";

type Answer = (response: ServerResponse) => void;
const from = "2026-01-01T00:00:00.000Z";

const page =
  (cursor: string | null, ...ids: string[]): Answer =>
  (response) => {
    const data = ids.map((id) => ({ event_id: id, type: "a.b", tenant: "-", accepted_at: `at-${id}`, deliveries: [] }));
    response.end(JSON.stringify({ data, meta: { cursor } }));
  };
const problem =
  (status: number, code: string): Answer =>
  (response) =>
    response.writeHead(status).end(JSON.stringify({ code, detail: "No." }));
const hangsUp: Answer = (response) => response.socket?.destroy();

/** Follows a server that answers in turn, until it has no more answers. */
async function followed(start: FollowPosition, answers: readonly Answer[]) {
  const asked: string[] = [];
  const notes: string[] = [];
  const ids: string[] = [];
  const ending = new AbortController();
  const server = createServer((request, response) => {
    const answer = answers[asked.length];
    if (answer === undefined) return ending.abort();
    const { searchParams } = new URL(request.url ?? "", "http://host");
    searchParams.delete("limit");
    asked.push(decodeURIComponent(searchParams.toString()));
    answer(response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connection: ApiConnection = { url, token: async () => undefined, close: async () => undefined };
  const options = { query: {}, start, signal: ending.signal, onNote: (note: string) => notes.push(note), pollMs: 1 };
  for await (const events of followEvents(connection, options)) ids.push(...events.map((one) => one.event_id));
  return { asked, notes, ids };
}

describe("events are followed", () => {
  test("from a time, then after the last one, with the cursor of pages", async () => {
    expect(await followed({ from }, [page("7", "a", "b"), page(null, "c"), page(null), page(null, "d")])).toEqual({
      asked: [`from=${from}`, "after_id=b&cursor=7", "after_id=c&cursor=7", "after_id=c&cursor=7"],
      notes: [],
      ids: ["a", "b", "c", "d"],
    });
  });

  test("over lost connections and a server without time", async () => {
    // A request on a kept connection is repeated once, so the server hangs up twice.
    const answers = [page(null, "a"), hangsUp, hangsUp, problem(503, "events_unavailable"), page(null, "b")];
    const { asked, notes, ids } = await followed({ from }, answers);
    expect(ids).toEqual(["a", "b"]);
    expect(asked).toEqual([`from=${from}`, "after_id=a", "after_id=a", "after_id=a", "after_id=a"]);
    expect(notes).toEqual([expect.stringMatching(/cannot be reached.*; trying again$/u), "reconnected"]);
  });

  test("from the time of the last one when that is no longer stored", async () => {
    const answers = [problem(404, "event_not_found"), page(null, "b")];
    const { asked, ids } = await followed({ from: "at-a", afterId: "a" }, answers);
    expect({ asked, ids }).toEqual({ asked: ["after_id=a", "from=at-a"], ids: ["b"] });
  });

  test("until the server refuses", async () => {
    await expect(followed({ from }, [problem(403, "scope_missing")])).rejects.toMatchObject({ code: "scope_missing" });
  });
});

describe("a place", () => {
  test("is kept in a file, and absent without one", async () => {
    const folder = await temporaryFolder("place");
    onTestFinished(() => folder.remove());
    const file = join(folder.path, "below", "place.json");
    expect(await readPlace(file)).toBeUndefined();
    await keepPlace(file, { from, afterId: "a" });
    expect(await readPlace(file)).toEqual({ from, afterId: "a" });
  });

  test("that cannot be kept is named", async () => {
    const failure = { exit: "data", message: expect.stringContaining("remove it to start over") };
    await expect(keepPlace("/dev/null/place", { from, afterId: "a" })).rejects.toMatchObject(failure);
    await expect(readPlace("/dev/null/place")).rejects.toMatchObject(failure);
  });
});

test.each([['{"n":1.00,"t":"\\u00e9é"}'], ['{"a":",\\"routed_at\\":null"}']])(
  "the bytes of the event %s stay in a history",
  (event) => {
    const rest = { routed_at: null, deliveries: [{ partner: "a/b", state: "delivered", reason: "é", attempts: [] }] };
    const history = Buffer.from(`{"event":${event},${JSON.stringify(rest).slice(1)}`);
    expect(Buffer.from(rawEventOf(history)).toString()).toBe(event);
  },
);
