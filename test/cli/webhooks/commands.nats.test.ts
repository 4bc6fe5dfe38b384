import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { verifyDelivery } from "../../../runtime/recipient/verify-delivery.ts";
import { readArguments } from "../../../cli/dispatch.ts";
import { runProgram, startProgram } from "../../support/heliograph-process.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../support/webhook-partner.ts";
import {
  eventText,
  get,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
  type Running,
} from "../installation.ts";

let installation: Installation;
let program: Running;
let partner: WebhookPartnerServer;
let token = "";
/** Types that the partner refuses. */
const refused = new Set<string>();
const data = JSON.stringify({ payout_id: "p-1", amount: 1 });
const timeoutMs = 30_000;
const exampleTypes = new URL("../../../docs/examples/event-catalog.yaml", import.meta.url);
const heliograph = fileURLToPath(new URL("../../../cli/heliograph.ts", import.meta.url));

beforeAll(async () => {
  installation = await makeInstallation();
  partner = await startWebhookPartner(({ body }) => {
    const { type } = JSON.parse(body.toString()) as { readonly type: string };
    return refused.has(type) ? { status: 404 } : {};
  });
  await installation.write("acme.yaml", partnerText("acme", partner.url));
  await installation.write("types.yaml", await readFile(exampleTypes, "utf8"));
  program = await installation.start();
  token = await installation.token({ scope: "events:write webhooks:read webhooks:replay webhooks:ack webhooks:ping" });
});

afterAll(async () => {
  await installation?.remove();
  await partner?.close();
});

const environment = (): Record<string, string> => ({ HELIOGRAPH_URL: program.line.url, HELIOGRAPH_TOKEN: token });
const command = (...args: string[]) => runProgram(args, { environment: environment() });

/** The lines of a command that ends with 0 and prints JSON. */
async function items(...args: string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { code, stdout, stderr } = await command(...args, "-o", "json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Stores an event and waits until its delivery has ended. */
async function stored(id: string, type: string, text = data): Promise<void> {
  const event = eventText(id, { type, data: "DATA" }).replace('"DATA"', text);
  expect(await postEvent(program.line.url, token, event)).toMatchObject({ status: 202 });
  const hasEnded = async (): Promise<boolean> => {
    const { body } = await get(`${program.line.url}/webhooks/events/${id}`, token);
    const deliveries = body["deliveries"] as readonly { readonly state: string }[];
    return deliveries.length > 0 && deliveries.every(({ state }) => state !== "in_delivery");
  };
  await waitFor(hasEnded, { timeoutMs, what: `the end of ${id}` });
}

/** Stores an event that the partner refuses. */
async function sendRefused(id: string, type: string): Promise<void> {
  refused.add(type);
  await stored(id, type);
}

/** Runs a command in a terminal of its own and answers its question. */
async function inTerminal(args: readonly string[], answer: string): Promise<{ code: unknown; text: string }> {
  const line = [process.execPath, heliograph, ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", line, "/dev/null"], { env: { PATH: process.env["PATH"], ...environment() } });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    if (!text.includes("[y/N]") && (text + part).includes("[y/N]")) child.stdin.write(`${answer}\n`);
    text += part;
  });
  const [code] = (await once(child, "close")) as readonly unknown[];
  return { code, text };
}

describe("heliograph send", () => {
  test("prints the id of the accepted event", async () => {
    const result = await command("send", "cli.sent", "-d", data, "--id", "evt-sent", "--tenant", "lumen");
    expect(result).toMatchObject({
      code: 0,
      stdout: "evt-sent\n",
      stderr: expect.stringMatching(/^accepted, tenant lumen, ts 20\S+Z\n$/u),
    });
  });

  test("is one event when it is repeated with its id and its time, and names --ts otherwise", async () => {
    const sent = ["send", "cli.repeated", "-d", data, "--id", "evt-repeated", "--tenant", "lumen"];
    const timed = [...sent, "--ts", "2026-01-02T03:04:05Z"];
    expect(await command(...timed)).toMatchObject({
      code: 0,
      stderr: "accepted, tenant lumen, ts 2026-01-02T03:04:05.000Z\n",
    });
    const again = {
      code: 0,
      stdout: "evt-repeated\n",
      stderr: "accepted before, tenant lumen, ts 2026-01-02T03:04:05.000Z\n",
    };
    expect(await command(...timed)).toMatchObject(again);
    const other = await command(...sent);
    expect(other.code).toBe(11);
    expect(other.stderr).toContain("409 event_id_reused");
    expect(other.stderr).toContain("Without --ts, each run sends a different time");
    // With a time of its own, the bytes differ for another reason.
    const later = await command(...sent, "--ts", "2026-01-02T03:04:06Z");
    expect(later).toMatchObject({ code: 11, stderr: expect.not.stringContaining("--ts") });
    expect(await command(...sent, "--ts", "2026-02-30T00:00:00Z")).toMatchObject({ code: 2 });
  });

  test("checks an event without storing it, and lists who would get it", async () => {
    const misspelt = await command("send", "cli.dry", "-d", "{}", "--tenant", "lumen", "--partner", "default/acme");
    expect([misspelt.code, misspelt.stderr]).toEqual([
      2,
      expect.stringContaining("--partner and --after are for --dry-run"),
    ]);
    const time = ["--ts", "2026-01-02T03:04:05Z"];
    const sent = ["send", "cli.dry", "-d", data, "--id", "evt-dry", "--tenant", "lumen", ...time, "--dry-run"];
    const { code, stdout } = await command(...sent);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^evt-dry is valid for tenant lumen. Its type and version: Undeclared.\n\nPARTNER +WOULD BE ROUTED /u,
    );
    expect(stdout).toMatch(/\ndefault\/acme +yes +would_be_routed /u);
    const none = await command(...sent, "--after", "default/acme", "-o", "json");
    expect(JSON.parse(none.stdout)).toMatchObject({ dry_run: true, explanation: { partners: [], cursor: null } });
    expect(await command("events", "get", "evt-dry")).toMatchObject({ code: 11 });
    expect(await command(...sent, "--wait")).toMatchObject({ code: 2 });
    expect(await command(...sent.slice(0, -1))).toMatchObject({ code: 0 });
    const repeated = await command(...sent);
    expect(repeated.stdout).toContain("the same event is stored already, and sending it again routes nothing");
    expect(repeated.stdout).toMatch(/\ndefault\/acme +no +duplicate /u);
  });

  test("explains to --partner only a partner that exists", async () => {
    const sent = ["send", "cli.dry", "-d", data, "--tenant", "lumen", "--dry-run"];
    const unknown = await command(...sent, "--partner", "default/acne");
    expect([unknown.code, unknown.stderr]).toEqual([
      11,
      "heliograph: no partner default/acne is visible to the token.\n",
    ]);
    const later = await command(...sent, "--partner", "default/acme", "--after", "default/acme");
    expect([later.code, later.stderr]).toEqual([0, expect.stringContaining("default/acme is not explained: --after")]);
    expect(await command("send", "cli.known", "-d", data, "--id", "evt-known", "--tenant", "lumen")).toMatchObject({
      code: 0,
    });
    const explained = await command("events", "get", "evt-known", "--explain", "--partner", "default/acne");
    expect([explained.code, explained.stderr]).toEqual([
      11,
      expect.stringContaining("no partner default/acne is visible"),
    ]);
    const misspelt = await command("events", "get", "evt-known", "--partner", "default/acme");
    expect([misspelt.code, misspelt.stderr]).toEqual([2, expect.stringContaining("are for --explain")]);
  });

  test("waits until every delivery has ended, and prints their states", async () => {
    const file = join(installation.folder, "..", "data.json");
    await writeFile(file, data);
    const { code, stdout, stderr } = await command("send", "cli.awaited", "-f", file, "--tenant", "lumen", "--wait");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^evt-[\w-]+\n\nPARTNER +STATE +ATTEMPTS +STATUS .*\ndefault\/acme +delivered +1 +200 +-/u);
  });

  test("ends with 1 when a delivery is rejected", async () => {
    refused.add("cli.refused");
    const sent = ["send", "cli.refused", "-d", data, "--tenant", "lumen", "--wait", "-o", "json"];
    const { code, stdout } = await command(...sent);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ deliveries: [{ state: "rejected", reason: "status_404" }] });
  });

  test("ends with 11 and the reason of the server", async () => {
    const { code, stderr } = await command(
      "send",
      "cli.sent",
      "-d",
      '{"note":"4111 1111 1111 1111"}',
      "--tenant",
      "lumen",
    );
    expect({ code, stderr }).toEqual({
      code: 11,
      stderr: expect.stringMatching(/^heliograph: the server rejected the request with 422 personal_data: .+\.\n$/u),
    });
  });

  test.each([
    ["for data that is no object", ["-d", "[1]"], /^heliograph: --body is not a JSON object: /u],
    ["for a file that is missing", ["-f", "/nowhere"], /^heliograph: the file \/nowhere cannot be read: ENOENT/u],
  ])("ends with 2 %s", async (_name, args, sentence) => {
    const { code, stderr } = await command("send", "cli.sent", ...args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(sentence) });
  });
});

test("send without data is refused", async () => {
  await expect(readArguments(["send", "cli.sent"], {})).rejects.toThrow("send needs either --body or --file.");
});

test("a server that is away ends a command with 12, and a token that it does not know with 11", async () => {
  const away = await command("events", "list", "--url", "http://127.0.0.1:1");
  expect(away).toMatchObject({ code: 12, stderr: expect.stringContaining("http://127.0.0.1:1 cannot be reached") });
  const lost = await command("send", "cli.lost", "-d", data, "--id", "evt-lost", "--url", "http://127.0.0.1:1");
  expect(lost).toMatchObject({ code: 12, stderr: expect.stringContaining("repeat with --id evt-lost") });
  const strange = await runProgram(["events", "list"], { environment: { HELIOGRAPH_URL: program.line.url } });
  expect(strange).toMatchObject({ code: 11, stderr: expect.stringContaining("set --token-file") });
});

describe("heliograph events", () => {
  test("lists events, one line of JSON each, as the server has them", async () => {
    await stored("evt-listed", "cli.listed");
    expect(await items("events", "list", "--type", "cli.listed")).toEqual([
      expect.objectContaining({
        event_id: "evt-listed",
        deliveries: [
          { partner: "default/acme", state: "delivered", reason: null, status: 200, attempts: 1, waiting: null },
        ],
      }),
    ]);
    const { stdout, stderr } = await command("events", "list", "--since", "1h", "--limit", "1");
    expect(stdout.split("\n")).toHaveLength(3);
    expect(stderr).toBe("There are more than 1; see --limit.\n");
  });

  test.each([
    ["events list", "default/nope", "no partner default/nope is visible to the token"],
    ["events list", "nope", "--partner must be NAMESPACE/NAME, such as default/acme"],
    ["events tail", "default/nope", "no partner default/nope is visible to the token"],
    ["dlq redrive evt-nowhere --yes", "default/acme", "default/acme has no dead letter for this event"],
  ])("%s of %s says what there is not, and ends with 11", async (words, label, sentence) => {
    const { code, stdout, stderr } = await command(...words.split(" "), "--partner", label);
    expect({ code, stdout: stdout.split("\n").length <= 2 }).toEqual({ code: 11, stdout: true });
    expect(stderr).toContain(sentence);
  });

  test("gets an event as the server sends it, for people or byte for byte", async () => {
    await stored("evt-got", "cli.got", '{"n":1.00}');
    const { stdout } = await command("events", "get", "evt-got", "-o", "json");
    expect(stdout).toContain('"data":{"n":1.00}');
    expect((await command("events", "get", "evt-got")).stdout).toMatch(/"event_id": "evt-got"[^]*\nPARTNER +STATE/u);
    expect(await command("events", "get", "evt-absent")).toMatchObject({ code: 11 });
  });

  test("tails events as they are accepted", async () => {
    const tail = startProgram(["events", "tail", "--type", "cli.tailed", "-o", "json"], { environment: environment() });
    await command("send", "cli.tailed", "-d", data, "--id", "evt-tail-1", "--tenant", "lumen");
    await waitFor(() => tail.stdout().includes("evt-tail-1"), { timeoutMs, what: "the first event" });
    await command("send", "cli.tailed", "-d", data, "--id", "evt-tail-2", "--tenant", "lumen");
    await waitFor(() => tail.stdout().includes("evt-tail-2"), { timeoutMs, what: "the second event" });
    tail.signal("SIGKILL");
    await tail.ended();
    expect(tail.stdout().trimEnd().split("\n")).toHaveLength(2);
  });

  test("lists the attempts of an event", async () => {
    await stored("evt-tried", "cli.tried");
    expect(await items("attempts", "evt-tried")).toMatchObject([{ partner: "default/acme", attempt: 1, status: 200 }]);
    const none = await command("attempts", "evt-tried", "--partner", "default/other");
    expect(none).toMatchObject({ code: 11, stdout: "", stderr: expect.stringContaining("is visible to the token") });
  });
});

test("heliograph partners ping waits for the end of a test event", async () => {
  const { code, stdout, stderr } = await command("partners", "ping", "default/acme", "--tenant", "lumen", "--wait");
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stderr: "",
    stdout: expect.stringMatching(/^heliograph:ping:[^]*delivered/u),
  });
  expect(await command("partners", "ping", "acme")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("NAMESPACE/NAME"),
  });
  expect(await command("partners", "ping", "default/acme")).toMatchObject({
    code: 11,
    stderr: expect.stringMatching(/tenant is required.*; set --tenant\.\n$/u),
  });
  expect(await command("partners", "ping", "default/nobody")).not.toMatchObject({ code: 0 });
});

test("heliograph partners lists partners with their subscriptions and keys", async () => {
  expect(await items("partners")).toMatchObject([
    {
      partner: "default/acme",
      state: "active",
      reason: null,
      subscriptions: [{ types: ["**"], tenants: ["*"] }],
      health: { kind: expect.stringMatching(/^(?:healthy|failing)$/u) },
    },
  ]);
  const { stdout } = await command("partners");
  const titles = "PARTNER +STATE +HEALTH +REASON +TYPES +TENANTS +KEYS";
  expect(stdout).toMatch(
    new RegExp(`^${titles}\ndefault/acme +active +(?:healthy|failing) +\\S.* +\\*\\* +\\* +\\S+\n$`, "u"),
  );
  const { stdout: wide } = await command("partners", "--search", "ACME", "-o", "wide");
  expect(wide).toMatch(/SUCCESS 24H +P95 24H +BACKLOG +LAST SUCCESS .*\ndefault\/acme .*\d%? +\d+ms/u);
  expect((await command("partners", "--search", "nobody")).stderr).toContain("No partners found.");
});

describe("heliograph dlq", () => {
  const partnerArgs = ["--partner", "default/acme"];

  test("lists, redrives and acknowledges dead letters", async () => {
    await sendRefused("evt-dead-1", "cli.dead");
    await sendRefused("evt-dead-2", "cli.dead");
    const listed = await items("dlq", "list", ...partnerArgs, "--reason", "status_404");
    expect(listed.map(({ event_id: id }) => id)).toEqual(expect.arrayContaining(["evt-dead-1", "evt-dead-2"]));
    refused.delete("cli.dead");
    const redriven = await command("dlq", "redrive", "evt-dead-1", ...partnerArgs, "--yes", "--follow");
    expect(redriven).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\S+ completed: 1 published, 1 delivered, 0 failed\n$/u),
    });
    const acked = await command("dlq", "ack", "evt-dead-2", ...partnerArgs, "--note", "booked by hand");
    expect(acked).toMatchObject({ code: 0, stdout: "evt-dead-2 is handled for default/acme\n" });
    const left = await command("dlq", "list", ...partnerArgs, "--type", "cli.dead", "-o", "json");
    expect(left).toMatchObject({ code: 0, stdout: "", stderr: "No dead letters found.\n" });
  });

  test("lists those of all partners, the newest first, and counts them by partner and reason", async () => {
    await sendRefused("evt-count-1", "cli.counted");
    await sendRefused("evt-count-2", "cli.counted");
    const listed = await items("dlq", "list", "--reason", "status_404", "--desc");
    expect(listed.slice(0, 2)).toMatchObject([
      { event_id: "evt-count-2", partner: "default/acme" },
      { event_id: "evt-count-1", partner: "default/acme" },
    ]);
    const { stdout, stderr } = await command("dlq", "list", "--desc", "--limit", "1");
    expect(stdout).toMatch(/^EVENT +TYPE +PARTNER .*\nevt-count-2 +cli\.counted +default\/acme .*\n$/u);
    expect(stderr).toBe("There are more than 1; see --limit.\n");
    expect(await items("dlq", "counts", ...partnerArgs)).toMatchObject([
      { partner: "default/acme", reason: "status_404", count: listed.length },
    ]);
    const counted = await command("dlq", "counts");
    const line = `default/acme +status_404 +${listed.length} +20\\S+ +20\\S+`;
    expect(counted.stdout).toMatch(new RegExp(`^PARTNER +REASON +COUNT +OLDEST +NEWEST\n${line}\n$`, "u"));
  });

  test("selects by type, tenant and time, and redrives or acknowledges what matches", async () => {
    for (const type of ["cli.bulk.one", "cli.bulk.two"])
      for (const number of [1, 2]) await sendRefused(`evt-${type}-${number}`, type);
    const bulk = ["--type", "cli.bulk.*"];
    const lumen = ["--tenant", "lumen", "--since", "1h"];
    expect(await items("dlq", "list", ...bulk, ...lumen)).toHaveLength(4);
    const older = await command("dlq", "list", ...bulk, "--until", "1h");
    expect(older).toMatchObject({ code: 0, stderr: "No dead letters found.\n" });
    expect(await items("dlq", "counts", ...bulk, "--group-by", "type")).toMatchObject([
      { type: "cli.bulk.one", count: 2 },
      { type: "cli.bulk.two", count: 2 },
    ]);
    const all = await items("dlq", "list");
    const dryRun = async (...args: string[]) => (await command("dlq", ...args, "--dry-run")).stdout;
    expect(await dryRun("redrive", "--all")).toBe(`${all.length} deliveries\n`);
    expect(await dryRun("ack", "--all")).toBe(`${all.length} dead letters\n`);
    expect(await dryRun("ack", ...bulk, "--until", "1h")).toBe("0 dead letters\n");
    refused.delete("cli.bulk.one");
    const redriven = await command("dlq", "redrive", "--type", "cli.bulk.one", ...lumen, "--yes", "--follow");
    expect(redriven).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(" completed: 2 published, 2 delivered"),
    });
    expect(await dryRun("ack", ...bulk, ...lumen)).toBe("2 dead letters\n");
    const reason = ["--reason", "status_404", ...partnerArgs, "--note", "booked by hand"];
    const acked = await command("dlq", "ack", ...bulk, ...reason, ...lumen, "--yes", "--follow");
    expect(acked).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S+ completed: 2 acknowledged\n$/u) });
    expect(await items("dlq", "list")).toHaveLength(all.length - 4);
  });

  test.each([
    ["dlq redrive --yes", "dlq redrive needs either a filter or --all."],
    ["dlq redrive --all --reason age --yes", "dlq redrive needs either a filter or --all."],
    ["dlq ack --yes", "dlq ack needs an event, a filter or --all."],
    ["dlq ack --all --tenant lumen --yes", "dlq ack needs an event, a filter or --all."],
    ["dlq ack --reason age", "dlq ack needs --yes or --dry-run without a terminal."],
    ["dlq ack evt-1", "--partner is required for an event."],
    ["dlq ack evt-1 --partner a/b --type x --dry-run", "dlq ack of an event does not accept --type, --dry-run."],
  ])("%s is rejected", async (line, sentence) => {
    await expect(readArguments(line.split(" "), {})).rejects.toThrow(sentence);
  });

  test("names an unknown partner", async () => {
    const { code, stderr } = await command("dlq", "list", "--partner", "default/nobody");
    expect({ code, stderr }).toEqual({ code: 11, stderr: expect.stringContaining("404 partner_not_found") });
  });
});

describe("heliograph replay", () => {
  test("counts in a dry run, and delivers again with --yes", async () => {
    await stored("evt-replayed", "cli.replayed");
    const selection = ["--since", "1h", "--partner", "default/acme", "--type", "cli.replayed"];
    const dry = await command("replay", ...selection, "--dry-run");
    expect(dry).toMatchObject({ code: 0, stdout: "1 delivery\n" });
    const { code, stdout } = await command("replay", ...selection, "--yes", "--follow", "-o", "json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: "completed", published: 1, delivered: 1, failed: 0 });
    expect(await items("attempts", "evt-replayed")).toHaveLength(2);
  });

  test("is listed afterwards, the newest first", async () => {
    await stored("evt-replays-1", "cli.replays");
    await stored("evt-replays-2", "cli.replays");
    const replay = async (...ids: string[]): Promise<unknown> => {
      const { code, stdout } = await command("replay", "--yes", "--follow", "-o", "json", ...ids);
      expect(code).toBe(0);
      return (JSON.parse(stdout) as { readonly replay_id: unknown }).replay_id;
    };
    const first = await replay("evt-replays-1");
    const second = await replay("evt-replays-1", "evt-replays-2");
    const [newest, next] = await items("replays", "list");
    expect(newest).toMatchObject({ replay_id: second, kind: "replay", event_ids: 2, delivered: 2 });
    expect(next).toMatchObject({ replay_id: first, kind: "replay", event_ids: 1, delivered: 1 });
    const { code, stdout } = await command("replays", "list", "-o", "wide", "--limit", "1");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^REPLAY +KIND +STATUS +CREATED +PARTNERS +PUBLISHED +DELIVERED +FAILED +REQUESTED BY +EVENTS/u,
    );
    expect(stdout).toMatch(/\n[\w-]{36} +replay +completed +20\S+ +[\w-]+\/[\w-]+ +2 +2 +0 +\S+ +2 ids +all +-\n$/u);
  });

  test("is shown until it has ended, and cancelled", async () => {
    const ids = ["evt-cancelled-1", "evt-cancelled-2", "evt-cancelled-3"];
    for (const each of ids) await stored(each, "cli.cancelled");
    const [started] = await items("replay", ...ids, "--rate", "1", "--yes");
    const id = String(started?.["replay_id"]);
    expect(await items("replays", "cancel", id)).toMatchObject([{ replay_id: id, status: "cancelled" }]);
    const followed = await command("replays", "get", id, "--follow");
    expect(followed).toMatchObject({ code: 1, stdout: expect.stringMatching(/^\S+ cancelled: [012] published, /u) });
    const [whole] = await items("replay", "evt-cancelled-1", "--yes");
    const ended = await command("replays", "get", String(whole?.["replay_id"]), "--follow");
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("completed: 1 published, 1 delivered") });
    const again = await command("replays", "cancel", String(whole?.["replay_id"]));
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("completed: 1 published, 1 delivered") });
    const unknown = await command("replays", "get", "none/such");
    expect(unknown).toMatchObject({ code: 11, stderr: expect.stringContaining("404 replay_not_found") });
  });

  test("ends with 1 when a delivery fails again", async () => {
    await sendRefused("evt-again", "cli.again");
    const { code, stdout } = await command("replay", "evt-again", "--only-failed", "--yes", "--follow");
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining("1 published, 0 delivered, 1 failed"),
    });
  });

  test("asks in a terminal with the count, and shows its progress there", async () => {
    await stored("evt-asked", "cli.asked");
    const args = ["replay", "evt-asked", "--follow"];
    const started = await inTerminal(args, "y");
    expect(started.code).toBe(0);
    const shown = started.text.replaceAll("\u001B[2K", "<line>");
    expect(shown).toMatch(
      /1 delivery\r\n[^]*Deliver them again\? \[y\/N\][^]*\r<line>\[[=>][^]*1 delivered, 0 failed/u,
    );
    const left = await inTerminal(args, "n");
    expect(left).toMatchObject({ code: 0, text: expect.stringContaining("Nothing was started.") });
    expect(await items("attempts", "evt-asked")).toHaveLength(2);
  });

  test.each([
    ["neither --yes nor a terminal", ["--since", "1h"], "replay needs --yes or --dry-run without a terminal."],
    ["a time and ids", ["evt-1", "--since", "1h", "--yes"], "replay needs either --since or event ids."],
    [
      "a time that is none",
      ["--since", "1y", "--yes"],
      "--since must be a duration such as 15m, at most 3660d, or a time such as ",
    ],
  ])("is refused for %s", async (_name, args, sentence) => {
    await expect(readArguments(["replay", ...args], {})).rejects.toThrow(sentence);
  });
});

test("heliograph types lists, shows, checks and prints the types of the server", async () => {
  const listed = await items("types", "list", "--search", "payouts created");
  expect(listed).toMatchObject([{ type: "payout.created", catalog: "default/payouts", state: "Active" }]);
  expect((await items("types", "show", "payout.processed"))[0]).toMatchObject({
    sensitive: [{ pointer: "/account", class: "financial" }],
  });
  const file = join(installation.folder, "..", "checked.json");
  await writeFile(file, JSON.stringify([{ payout_id: "" }]));
  const checked = await command("types", "check", file, "--type", "payout.created", "-o", "json");
  expect(checked).toMatchObject({ code: 1, stderr: "" });
  expect(JSON.parse(checked.stdout)).toMatchObject({ status: "Invalid", errors: [{ pointer: "/payout_id" }] });
  const unknown = await command("types", "check", file, "--type", "payout.procesed");
  expect(unknown).toMatchObject({ code: 1, stdout: expect.stringContaining("Undeclared") });
  const { stdout } = await command("types", "generate", "--prefix", "payout.c");
  expect(stdout).toContain("export type HeliographEvent = PayoutCreated;");
});

describe("heliograph listen --partner", () => {
  test("forwards copies signed by a local key, continues at its place, and settles nothing", async () => {
    const folder = join(installation.folder, "..");
    const [keyFile, placeFile] = [join(folder, "local.key"), join(folder, "place.json")];
    const key = "local-".padEnd(40, "k");
    await writeFile(keyFile, key);
    const local = await startWebhookPartner();
    onTestFinished(() => local.close());
    const flags = ["--partner", "default/acme", "--forward", new URL("/hook", local.url).href, "--key-file", keyFile];
    const listen = async (id: string): Promise<string> => {
      const args = ["listen", ...flags, "--place-file", placeFile, "-o", "json"];
      const listener = startProgram(args, { environment: environment() });
      await command("send", "cli.followed", "-d", '{"n":1.00}', "--id", id, "--tenant", "lumen", "--wait");
      await waitFor(() => listener.stdout().includes(`"${id}"`), { timeoutMs, what: `the copy of ${id}` });
      listener.signal("SIGINT");
      expect(await listener.ended()).toMatchObject({ code: 0 });
      return listener.stdout();
    };
    expect(await listen("evt-followed-1")).toContain('"status":200,"error":null}');
    expect(await listen("evt-followed-2")).not.toContain("evt-followed-1");
    const copies = local.received.filter(({ eventId }) => eventId.startsWith("evt-followed"));
    expect(copies.map(({ eventId }) => eventId)).toEqual(["evt-followed-1", "evt-followed-2"]);
    const keys = [{ id: "local", secret: Buffer.from(key) }];
    for (const { path: target, headers, body } of copies) {
      expect(body.toString()).toContain('"data":{"n":1.00},"attempt":1}');
      const request = { method: "POST", target, headers, body };
      expect(verifyDelivery(request, keys, Date.now())).toMatchObject({ ok: true });
    }
    expect(await items("attempts", "evt-followed-1")).toMatchObject([{ attempt: 1, status: 200, replay_id: null }]);
  });

  test("needs a key for what it forwards", async () => {
    const line = ["listen", "--partner", "default/acme", "--forward", "http://127.0.0.1:1/hook"];
    await expect(readArguments(line, {})).rejects.toThrow("--key-file or HELIOGRAPH_KEY is required.");
  });
});
