import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Changes, plainObject } from "../crds/valid-objects.ts";
import { runProgram } from "../support/heliograph-process.ts";
import { quickestMs, waitFor } from "../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../support/webhook-partner.ts";
import {
  eventText,
  get,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
  type Running,
} from "./installation.ts";

const timeoutMs = 20_000;

let installation: Installation;
let first: WebhookPartnerServer;
let second: WebhookPartnerServer;

beforeAll(async () => {
  first = await startWebhookPartner();
  second = await startWebhookPartner();
});

afterAll(async () => {
  await first.close();
  await second.close();
});

beforeEach(async () => {
  installation = await makeInstallation();
});

afterEach(async () => installation.remove());

const problemsOf = (program: Running) => program.logLines().filter(({ msg }) => msg === "configuration problem");
const hashOf = async ({ line }: Running) => (await get(`${line.admin_url}/configz`)).body["hash"];
const paused = { state: "Paused" };

/** Brings an event after all others and waits until the first partner has it: what comes twice has come by then. */
async function bringSentinel({ line }: Running): Promise<void> {
  const id = `sentinel-${randomUUID()}`;
  await postEvent(line.url, await installation.token(), eventText(id));
  await waitFor(() => first.of(id).length > 0, { timeoutMs, what: "the sentinel" });
}

describe("a folder with problems", () => {
  test("starts, logs every problem with its place, and applies the rest", async () => {
    await installation.write("a-good.yaml", partnerText("acme", first.url));
    await installation.write("b-broken.yaml", "kind: [\n");
    await installation.write("c-kind.yaml", "apiVersion: apps/v1\nkind: Deployment\n");
    await installation.write("d-secretless.yaml", partnerText("beta", first.url).split("\n---\n")[0] ?? "");
    await installation.write("e-twice.yaml", partnerText("acme", second.url));
    const program = await installation.start();
    expect(problemsOf(program)).toMatchObject([
      { file: "b-broken.yaml", line: 2, reason: "InvalidYaml" },
      { file: "c-kind.yaml", line: 1, field: "apiVersion", reason: "NotSupported" },
      { file: "e-twice.yaml", line: 1, field: "metadata.name", reason: "Duplicate" },
      { file: "e-twice.yaml", line: 3, field: "metadata.name", reason: "Duplicate" },
      { file: "d-secretless.yaml", line: 1, field: "spec.signing.keys[0].secretRef.name", reason: "SecretNotFound" },
    ]);
    const refused = program.logLines().filter(({ outcome }) => outcome === "refused");
    expect(refused).toMatchObject([{ object: "WebhookPartner/default/beta", reason: "SecretNotFound" }]);
    await postEvent(program.line.url, await installation.token(), eventText("evt-rest"));
    await waitFor(() => first.of("evt-rest").length > 0, { timeoutMs, what: "the delivery to the first of the name" });
    await bringSentinel(program);
    expect(second.of("evt-rest")).toEqual([]);
  });

  test("is applied once it is corrected", async () => {
    const [partner = "", secret = ""] = partnerText("acme", first.url).split("\n---\n");
    await installation.write("partner.yaml", partner);
    const program = await installation.start();
    await installation.write("secret.yaml", secret);
    const isAccepted = () => program.logLines().some(({ outcome }) => outcome === "accepted");
    await waitFor(isAccepted, { timeoutMs, what: "the partner to be accepted" });
    await postEvent(program.line.url, await installation.token(), eventText("evt-mended"));
    await waitFor(() => first.of("evt-mended").length > 0, { timeoutMs, what: "the delivery" });
    await bringSentinel(program);
    expect(first.of("evt-mended")).toHaveLength(1);
  });
});

describe("a catalog of event types", () => {
  test("shows in /configz and in validate: its edit that is rejected, and the fields that it leaves behind", async () => {
    const sensitive = [{ pointer: "/id", class: "f" }];
    const catalogText = (changes: Changes) =>
      JSON.stringify(plainObject("EventCatalog", { "types[0].sensitive": sensitive, ...changes }, "payouts"));
    const excluding = { "subscriptions[0].payload": { excludeClasses: ["f"] } };
    await installation.write("partner.yaml", partnerText("acme", first.url, excluding));
    await installation.write("types.json", catalogText({}));
    const program = await installation.start();
    const configz = async () => (await get(`${program.line.admin_url}/configz`)).body;
    const validate = ["validate", installation.folder, "--admin", program.line.admin_url];
    expect(await configz()).toMatchObject({ event_catalogs: 1, errors: [], problems: 0 });
    expect(await runProgram(validate)).toMatchObject({ code: 0, stdout: "" });
    await installation.write(
      "types.json",
      catalogText({ "types[0].versions[0].schema.properties.id.type": "integer" }),
    );
    await waitFor(async () => (await configz())["problems"] === 1, { timeoutMs, what: "the rejected edit" });
    const rejected = { kind: "EventCatalog", namespace: "default", name: "payouts", reason: "Incompatible" };
    expect(await configz()).toMatchObject({ event_catalogs: 1, errors: [rejected] });
    // Alone, the folder is valid: only the program knows what it applies.
    expect(await runProgram(["validate", installation.folder])).toMatchObject({ code: 0 });
    expect(await runProgram(validate)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^not applied: EventCatalog\/default\/payouts: Incompatible: spec\.types\[0\]/u),
    });
    await rm(join(installation.folder, "types.json"));
    await waitFor(async () => (await configz())["problems"] === 0, { timeoutMs, what: "the deletion" });
    const kept = expect.stringContaining("no event catalog declares the field /id of payout.processed");
    expect(await configz()).toMatchObject({ event_catalogs: 0, errors: [], warnings: [kept] });
    expect(await runProgram(validate)).toMatchObject({ code: 0, stderr: kept });
    expect(JSON.parse((await runProgram([...validate, "-o", "json"])).stdout)).toMatchObject({
      running: { errors: [], warnings: [kept] },
    });
  });
});

describe("an edit", () => {
  test("of a partner's endpoint is applied in less than a second", async () => {
    await installation.write("partner.yaml", partnerText("acme", first.url));
    const program = await installation.start();
    const token = await installation.token();
    await postEvent(program.line.url, token, eventText("evt-before"));
    await waitFor(() => first.of("evt-before").length > 0, { timeoutMs, what: "the delivery before the edit" });
    const appliedMs = await quickestMs(1000, async (index) => {
      const next = index % 2 === 0 ? second : first;
      const before = next.received.length;
      await installation.write("partner.yaml", partnerText("acme", next.url));
      // One event after another, until one arrives at the new endpoint.
      await waitFor(
        async () => {
          const id = `evt-${Math.round(performance.now() * 1000)}`;
          await postEvent(program.line.url, token, eventText(id));
          await sleep(20);
          return next.received.length > before;
        },
        { timeoutMs, what: "a delivery to the new endpoint" },
      );
    });
    expect(appliedMs).toBeLessThan(1000);
  });

  test("shows in the history of events which configuration routed them, by a delivery and without one", async () => {
    await installation.write("partner.yaml", partnerText("acme", first.url));
    const program = await installation.start();
    const token = await installation.token();
    const bring = async (id: string) => {
      await postEvent(program.line.url, token, eventText(id));
      const read = async () => (await get(`${program.line.url}/webhooks/events/${id}`, token)).body;
      type Read = Readonly<Record<string, unknown>> & {
        readonly deliveries: readonly Readonly<Record<string, unknown>>[];
      };
      const isRouted = async (): Promise<Read | undefined> => {
        const found = (await read()) as Read;
        return found["routed_at"] !== null || found.deliveries[0]?.["state"] === "delivered" ? found : undefined;
      };
      return waitFor(isRouted, { timeoutMs, what: `the routing of ${id}` });
    };
    const digits = async () => String(await hashOf(program)).slice(0, 16);
    const before = await digits();
    const delivered = await bring("evt-before");
    expect([delivered["routed_by"], delivered.deliveries[0]?.["routed_by"]]).toEqual([
      null,
      { configuration: before, generation: 1 },
    ]);
    await installation.write("partner.yaml", partnerText("acme", first.url, { "subscriptions[0].types": ["other.*"] }));
    await waitFor(async () => (await digits()) !== before, { timeoutMs, what: "the edit" });
    const nowhere = await bring("evt-after");
    expect([nowhere["routed_by"], nowhere.deliveries]).toEqual([{ configuration: await digits() }, []]);
  });

  test("that breaks a partner leaves the partner as it was, and is logged", async () => {
    await installation.write("partner.yaml", partnerText("acme", first.url));
    const program = await installation.start();
    const hash = await hashOf(program);
    await installation.write("partner.yaml", partnerText("acme", "ftp://nowhere.example"));
    const isKept = () =>
      program.logLines().some(({ object, level }) => object === "WebhookPartner/default/acme" && level === 50);
    await waitFor(isKept, { timeoutMs, what: "the refusal in the log" });
    expect(await hashOf(program)).toBe(hash);
    await postEvent(program.line.url, await installation.token(), eventText("evt-kept"));
    await waitFor(() => first.of("evt-kept").length > 0, { timeoutMs, what: "the delivery" });
    await bringSentinel(program);
    expect(first.of("evt-kept")).toHaveLength(1);
  });

  const partsOf = (changes: Changes = {}) => partnerText("acme", first.url, changes).split("\n---\n");
  test.each<[what: string, breakIt: () => Promise<void>]>([
    ["takes the Secret away", () => installation.removeFile("secret.yaml")],
    [
      "misspells a reference",
      () => installation.write("partner.yaml", partsOf({ "signing.keys[0].secretRef.name": "typo" })[0] ?? ""),
    ],
  ])("that %s for a second loses none of 20 events a second", async (what, breakIt) => {
    const [partner = "", secret = ""] = partsOf();
    const write = () =>
      Promise.all([installation.write("partner.yaml", partner), installation.write("secret.yaml", secret)]);
    await write();
    const program = await installation.start();
    const token = await installation.token();
    const ids = Array.from({ length: 60 }, (_, index) => `${what.split(" ")[0]}-${index}`);
    const send = async (from: number): Promise<void> => {
      for (const id of ids.slice(from, from + 20)) {
        await postEvent(program.line.url, token, eventText(id));
        await sleep(50);
      }
    };
    await send(0);
    await breakIt();
    await send(20);
    const isLastGood = () =>
      program.logLines().some(({ instead, reason }) => instead === "last good version" && reason === "SecretNotFound");
    await waitFor(isLastGood, { timeoutMs, what: "the last good version in the log" });
    await write();
    await send(40);
    await waitFor(() => ids.every((id) => first.of(id).length > 0), { timeoutMs, what: "every event" });
    await bringSentinel(program);
    expect(ids.filter((id) => first.of(id).length !== 1)).toEqual([]);
  });

  test("drops no request under load, however often files change", async () => {
    await installation.write("partner.yaml", partnerText("acme", first.url));
    const program = await installation.start();
    const token = await installation.token();
    const statuses = new Map<number, number>();
    const load = { isOver: false, sent: [] as string[] };
    const worker = async (name: number): Promise<void> => {
      for (let count = 0; !load.isOver; count += 1) {
        const id = `load-${name}-${count}`;
        const { status } = await postEvent(program.line.url, token, eventText(id));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        load.sent.push(id);
      }
    };
    const workers = Array.from({ length: 8 }, (_, name) => worker(name));
    const hashes = new Set<unknown>();
    for (let edit = 0; edit < 6; edit += 1) {
      const before = await hashOf(program);
      const changes = { "endpoint.timeoutSeconds": 3 + edit };
      await installation.write("partner.yaml", partnerText("acme", first.url, changes));
      await waitFor(async () => (await hashOf(program)) !== before, { timeoutMs, what: "the edit to apply" });
      hashes.add(await hashOf(program));
    }
    load.isOver = true;
    await Promise.all(workers);
    expect([...statuses.keys()]).toEqual([202]);
    expect(hashes.size).toBe(6);
    const missing = () => load.sent.filter((id) => first.of(id).length === 0);
    await waitFor(() => missing().length === 0, { timeoutMs: 20_000, what: "every event of the load to be delivered" });
    expect(missing()).toEqual([]);
  });

  test("that pauses a partner holds its events, and one that resumes it sends them", async () => {
    await installation.write("partner.yaml", partnerText("acme", first.url, paused));
    const program = await installation.start();
    await postEvent(program.line.url, await installation.token(), eventText("evt-paused"));
    const before = await hashOf(program);
    await installation.write("partner.yaml", partnerText("acme", first.url));
    await waitFor(async () => (await hashOf(program)) !== before, { timeoutMs, what: "the edit to apply" });
    await waitFor(() => first.of("evt-paused").length > 0, { timeoutMs, what: "the delivery after the pause" });
    await bringSentinel(program);
    expect(first.of("evt-paused")).toHaveLength(1);
  });
});

describe("a partner whose definition is rejected", () => {
  const key = "k".repeat(40);
  const rejected = async ({ line }: Running, token: string) => {
    const { body } = await get(`${line.url}/webhooks/partners`, token);
    type Item = {
      readonly partner: string;
      readonly state: string;
      readonly rejected: { readonly reason: string } | null;
    };
    const items = body["data"] as readonly Item[];
    return items.flatMap((one) => (one.rejected === null ? [] : [[one.partner, one.state, one.rejected.reason]]));
  };
  /** Waits until the deliveries of a partner that was removed with the last edit end; returns whose else ended. */
  const endedWith = async (program: Running, label: string): Promise<readonly unknown[]> => {
    const ended = () =>
      program
        .logLines()
        .filter(({ msg }) => msg === "deliveries of a removed partner ended")
        .map(({ partner }) => partner);
    await waitFor(() => ended().includes(label), { timeoutMs, what: `the end of ${label}` });
    return ended();
  };

  test("keeps its backlog and gets its events over restarts, even without the record of the last start", async () => {
    const settings = join(installation.data, "..", "settings.yaml");
    await writeFile(settings, "delivery: {removedAfterSeconds: 1}\n");
    const flags = ["--settings", settings];
    await installation.write("acme.yaml", partnerText("acme", second.url, {}, key));
    await installation.write("beta.yaml", partnerText("beta", first.url, paused));
    await installation.write("gamma.yaml", partnerText("gamma", first.url, paused));
    await installation.write("removed.yaml", partnerText("removed", first.url, paused));
    const program = await installation.start(...flags);
    const token = await installation.token();
    await postEvent(program.line.url, token, eventText("evt-waits"));
    await waitFor(() => second.of("evt-waits").length > 0, { timeoutMs, what: "the routing" });
    await installation.write("beta.yaml", partnerText("beta", first.url, {}, key));
    await installation.write("gamma.yaml", partnerText("gamma", "ftp://nowhere.example"));
    const expected = [
      ["default/beta", "held", "SharedSigningKey"],
      ["default/gamma", "paused", "Invalid"],
    ];
    const isShown = async () => (await rejected(program, token)).length === 2;
    await waitFor(isShown, { timeoutMs, what: "both reasons" });
    expect(await rejected(program, token)).toEqual(expected);
    program.signal("SIGTERM");
    await program.ended();

    const again = await installation.start(...flags);
    expect(await rejected(again, token)).toEqual(expected);
    await postEvent(again.line.url, token, eventText("evt-after"));
    await waitFor(() => second.of("evt-after").length > 0, { timeoutMs, what: "the routing after the restart" });
    again.signal("SIGTERM");
    await again.ended();

    await rm(join(installation.data, "last-good.json"));
    await installation.removeFile("removed.yaml");
    const bare = await installation.start(...flags);
    expect(await rejected(bare, token)).toEqual([
      ["default/beta", "held", "SharedSigningKey"],
      ["default/gamma", "rejected", "Invalid"],
    ]);
    expect(await endedWith(bare, "default/removed")).toEqual(["default/removed"]);
    await installation.write("beta.yaml", partnerText("beta", first.url));
    await installation.write("gamma.yaml", partnerText("gamma", first.url));
    const ids = ["evt-waits", "evt-after"];
    await waitFor(() => ids.every((id) => first.of(id).length === 2), { timeoutMs, what: "what waited" });
    await bringSentinel(bare);
    expect(ids.map((id) => first.of(id).length)).toEqual([2, 2]);
  });
});
