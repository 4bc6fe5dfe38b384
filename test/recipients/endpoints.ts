import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SigningScheme } from "../../crds/signing-key.ts";
import type { PublicKeySet } from "../../runtime/webhooks/signing/keys.ts";
import { startServerProcess, type ServerProcess } from "../support/server-process.ts";
import { waitFor } from "../support/wait.ts";
import { succeed } from "../tools/run.ts";
import { goEnvironment, recipientsFolder } from "./programs.ts";

/** A published endpoint that runs. */
export interface Endpoint extends ServerProcess {
  /** Origin, without a path. */
  readonly url: string;
}

const buildMsMax = 120_000;
const startMsMax = 30_000;

/** What an endpoint verifies with. */
export interface EndpointKeys {
  /** Of the partner. */
  readonly name: string;
  readonly scheme: SigningScheme;
  /** A shared key, or the sender's set of public keys. */
  readonly key: string | PublicKeySet;
}

/** Programs in `docs/recipients/python`, by the name of a framework. */
const frameworkPrograms = { django: "django_app.py", fastapi: "fastapi_app.py", flask: "flask_app.py" } as const;
type Framework = keyof typeof frameworkPrograms;

/** The frameworks that there is an example for. */
export const frameworks = Object.keys(frameworkPrograms) as readonly Framework[];

/** Starts `docs/recipients/python/endpoint.py` with the database `NAME.db` in a folder. */
export async function startPythonEndpoint(command: string, folder: string, keys: EndpointKeys): Promise<Endpoint> {
  const program = join(recipientsFolder("python"), "endpoint.py");
  return started(command, ["-B", program, "0", join(folder, `${keys.name}.db`)], folder, keys);
}

/** The same for the example of a framework, with a shared key and the scheme HmacV1. */
export async function startFrameworkEndpoint(
  command: string,
  folder: string,
  keys: EndpointKeys & { readonly name: Framework },
): Promise<Endpoint> {
  const program = join(recipientsFolder("python"), frameworkPrograms[keys.name]);
  return started(command, ["-B", program], folder, keys, { PORT: "0", DATABASE: join(folder, `${keys.name}.db`) });
}

/** Builds `docs/recipients/go/endpoint` in a folder; answers the program's file. */
export async function buildGoEndpoint(folder: string): Promise<string> {
  const program = join(folder, "endpoint");
  const args = ["build", "-trimpath", "-o", program, "./endpoint"];
  await succeed("go", args, { cwd: recipientsFolder("go"), env: goEnvironment, timeoutMs: buildMsMax });
  return program;
}

/** Starts the program of {@link buildGoEndpoint}. */
export async function startGoEndpoint(program: string, folder: string, keys: EndpointKeys): Promise<Endpoint> {
  return started(program, ["127.0.0.1:0"], folder, keys);
}

async function started(
  command: string,
  args: readonly string[],
  folder: string,
  { name, scheme, key }: EndpointKeys,
  more: Readonly<Record<string, string>> = {},
): Promise<Endpoint> {
  const file = join(folder, typeof key === "string" ? `${name}.key` : `${name}.json`);
  await writeFile(file, typeof key === "string" ? key : JSON.stringify(key));
  const env = { HELIOGRAPH_KEY_FILE: file, HELIOGRAPH_SCHEME: scheme, ...more };
  const process = await startServerProcess({ name, command, args, env, ready: async () => true });
  const urlOf = () => /(?:listening|[Rr]unning|Serving) on (?<url>http\S+)/u.exec(process.log())?.groups?.["url"];
  const url = await waitFor(urlOf, { timeoutMs: startMsMax, what: `the ${name} endpoint` });
  return { ...process, url };
}
