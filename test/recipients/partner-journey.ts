import { readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandBlocks, type CommandBlock } from "../pages/command-blocks.ts";
import { installKit, type InstalledKit } from "../release/installed-kit.ts";
import { freePort } from "../support/free-port.ts";
import { startServerProcess, type ServerProcess } from "../support/server-process.ts";
import { waitFor } from "../support/wait.ts";
import { run } from "../tools/run.ts";
import { goEnvironment } from "./programs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = "docs/how-to/receive-webhooks.md";
const blockMsMax = 120_000;
const startMsMax = 30_000;

/** Commands that stay until Ctrl-C. */
const serving = /^(?:HELIOGRAPH_KEY_FILE=|npx heliograph listen)/u;
/** The kit is built and installed once for the project. */
const installing = "make kit";

/** What the journey of a partner has printed. */
export interface Journey {
  /** Output of the blocks that end, in the order of the page. */
  readonly outputs: readonly string[];
  /** Log of the server whose command holds this text. */
  logOf(command: string): string;
  end(): Promise<void>;
}

interface Walk {
  readonly kit: InstalledKit;
  readonly servers: Map<string, ServerProcess>;
  readonly outputs: string[];
  /** The command as it is run here: with other ports, and with the program of this checkout. */
  readonly here: (text: string) => string;
}

/**
 * Types the commands of the page, in a project of its own that has the kit and the checkout's `docs/`.
 * @param isTyped leaves out lines
 */
export async function walk(isTyped: (line: string) => boolean): Promise<Journey> {
  const kit = await installKit();
  const state: Walk = { kit, servers: new Map(), outputs: [], here: await translation() };
  const end = async (): Promise<void> => {
    await Promise.all([...state.servers.values()].map((server) => server.stop()));
    await kit.remove();
  };
  try {
    await symlink(join(root, "docs"), join(kit.path, "docs"));
    await writeFile(join(kit.path, "endpoint.js"), state.here(await endpointText()));
    for (const block of commandBlocks(page)) await type(state, block, isTyped);
    const logOf = (command: string) => [...state.servers].find(([text]) => text.includes(command))?.[1].log() ?? "";
    return { outputs: state.outputs, logOf, end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function translation(): Promise<(text: string) => string> {
  const ports = await Promise.all([4000, 8090, 8091, 8092].map(async (port) => [port, await freePort()] as const));
  const program = `"${process.execPath}" "${join(root, "bin", "heliograph.js")}"`;
  return (text) => {
    const words = text.replaceAll("npx heliograph", program);
    return ports.reduce((line, [port, free]) => line.replaceAll(new RegExp(`\\b${port}\\b`, "gu"), `${free}`), words);
  };
}

async function endpointText(): Promise<string> {
  const [, text = ""] = (await readFile(join(root, page), "utf8")).split("```js\n// endpoint.js\n");
  return text.split("\n```")[0] ?? "";
}

async function type(state: Walk, block: CommandBlock, isTyped: (line: string) => boolean): Promise<void> {
  const lines = block.text.split("\n").filter((line) => line !== "" && isTyped(line));
  if (block.first === installing || lines.length === 0) return;
  const text = state.here(lines.join("\n"));
  const env = {
    ...goEnvironment,
    PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
    PYTHONDONTWRITEBYTECODE: "1",
  };
  if (serving.test(block.first)) {
    state.servers.set(block.first, await started(state.kit.path, text, env));
    return;
  }
  const script = `set -eu -o pipefail\n${text}`;
  const { code, stdout, stderr } = await run("bash", ["-c", script], {
    cwd: state.kit.path,
    env,
    timeoutMs: blockMsMax,
  });
  if (code !== 0) throw new Error(`${block.first} ended with ${code}: ${stdout}${stderr}`);
  state.outputs.push(stdout);
}

async function started(folder: string, text: string, env: Readonly<Record<string, string>>): Promise<ServerProcess> {
  // `exec` keeps one process, so that the signal of its end reaches it.
  const script = `cd "${folder}" && exec env ${text}`;
  const server = await startServerProcess({
    name: text,
    command: "bash",
    args: ["-c", script],
    env,
    ready: async () => true,
  });
  await waitFor(() => server.log().includes("listening on"), { timeoutMs: startMsMax, what: text });
  return server;
}
