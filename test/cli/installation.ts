import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { request } from "undici";
import { openDevIssuer } from "../../runtime/http/authentication/dev-issuer.ts";
import { commandLineOf, endProcess } from "../../runtime/nats/child/running-process.ts";
import { plainObject, type Changes } from "../crds/valid-objects.ts";
import { startProgram, type Program, type ReadyLine } from "../support/heliograph-process.ts";
import { temporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";

/** A program that is ready. */
export interface Running extends Program {
  readonly line: ReadyLine;
}

/** One of two programs over one NATS. */
export interface Pod extends Running {
  /** A token of its development issuer. */
  token(claims?: Readonly<Record<string, unknown>>): Promise<string>;
}

/** What an answer of the program says. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A folder of configuration and a data folder, and the programs that a test runs on them. */
export interface Installation {
  readonly folder: string;
  readonly data: string;
  /** Writes a file of the configuration as an editor saves it: at once. */
  write(name: string, text: string): Promise<void>;
  removeFile(name: string): Promise<void>;
  /** Starts `heliograph run` on free ports; more flags override. */
  launch(...flags: string[]): Program;
  /** The same, and waits until it is ready. */
  start(...flags: string[]): Promise<Running>;
  /** Starts two programs over one NATS, each with a data folder and ports of its own. */
  startTwo(natsUrl: string, ...flags: string[]): Promise<readonly [Pod, Pod]>;
  /** A token of the development issuer; claims replace those of a caller who may do everything. */
  token(claims?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Ends every program that was started, its nats-server included, and removes both folders. */
  remove(): Promise<void>;
}

const endPatienceMs = 10_000;

export async function makeInstallation(): Promise<Installation> {
  const root = await temporaryFolder("run");
  const folder = join(root.path, "config");
  const data = join(root.path, "data");
  await mkdir(folder);
  const natsServer = await resolveTool("nats-server");
  const programs: Program[] = [];
  const launch = (...flags: string[]): Program => {
    const environment = {
      HELIOGRAPH_PORT: "0",
      HELIOGRAPH_ADMIN_PORT: "0",
      HELIOGRAPH_DATA: data,
      HELIOGRAPH_NATS_SERVER: natsServer,
    };
    const program = startProgram(["run", folder, ...flags], { environment });
    programs.push(program);
    return program;
  };
  const start = async (...flags: string[]): Promise<Running> => {
    const program = launch(...flags);
    return Object.assign(program, { line: await program.ready() });
  };
  return {
    folder,
    data,
    write: (name, text) => swap(folder, name, text),
    removeFile: (name) => rm(join(folder, name)),
    launch,
    start,
    startTwo: async (natsUrl, ...flags) => {
      const startOn = async (own: string): Promise<Pod> => {
        const program = await start("--nats", natsUrl, "--data", own, ...flags);
        return Object.assign(program, { token: (claims = {}) => tokenOf(own, claims) });
      };
      return Promise.all([startOn(data), startOn(join(root.path, "data-2"))]);
    },
    token: (claims = {}) => tokenOf(data, claims),
    remove: async () => {
      for (const program of programs) {
        program.signal("SIGKILL");
        await program.ended();
      }
      await endChild(data);
      await root.remove();
    },
  };
}

/** A token of the development issuer of a data folder. */
async function tokenOf(data: string, claims: Readonly<Record<string, unknown>>): Promise<string> {
  const issuer = await openDevIssuer(data);
  const scope = "events:write webhooks:read metrics:read";
  return issuer.sign({ sub: "test", tenants: ["*"], scope, ...claims }, Date.now(), 600);
}

async function swap(folder: string, name: string, text: string): Promise<void> {
  const aside = join(folder, `.${name}.new`);
  await writeFile(aside, text);
  await rename(aside, join(folder, name));
}

/** The nats-server of a program that was killed outlives it. */
async function endChild(data: string): Promise<void> {
  const state = await readFile(join(data, "nats", "server.json"), "utf8").catch(() => "{}");
  const { pid = 0 } = JSON.parse(state) as { readonly pid?: number };
  if (pid > 0 && (await commandLineOf(pid))?.includes(data) === true) await endProcess(pid, endPatienceMs);
}

/** Text of a partner and the Secret it signs with. @param key @default a shared key of 40 characters */
export function partnerText(
  name: string,
  url: string,
  changes: Changes = {},
  key: string = `${name}-`.padEnd(40, "k"),
): string {
  const partner = plainObject(
    "WebhookPartner",
    {
      "endpoint.url": url,
      "endpoint.timeoutSeconds": 2,
      "signing.keys[0].secretRef.name": name,
      "subscriptions[0].types": ["**"],
      "subscriptions[0].tenants": ["*"],
      networks: { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true },
      ...changes,
    },
    name,
  );
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    stringData: { hmac: key },
  };
  return [partner, secret].map((object) => JSON.stringify(object)).join("\n---\n");
}

/** Bytes of a valid event. */
export function eventText(eventId: string, fields: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    event_id: eventId,
    type: "payout.processed",
    version: "2026-01-01",
    ts: "2026-01-01T00:00:00.000Z",
    tenant: "lumen",
    data: { payout_id: "p-1", status: "paid", amount_minor: 1050, currency: "EUR" },
    ...fields,
  });
}

/** Sends an event. */
export async function postEvent(url: string, token: string, body: string | Buffer): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return answerOf(await request(`${url}/events`, { method: "POST", headers, body }));
}

/** Reads from either API, or, without a token, from the admin port. */
export async function get(url: string, token?: string): Promise<Answer> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return answerOf(await request(url, { headers }));
}

async function answerOf({ statusCode, headers, body }: Awaited<ReturnType<typeof request>>): Promise<Answer> {
  return { status: statusCode, headers, body: (await body.json()) as Answer["body"] };
}
