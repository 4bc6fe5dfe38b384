import { createWriteStream } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import type { Version } from "../tools/version.ts";
import { freePort } from "./free-port.ts";
import { startServerProcess, type ServerProcess } from "./server-process.ts";
import { temporaryFolder } from "./temp-folder.ts";

/** How a test's Prometheus differs from the usual one. */
interface PrometheusOptions {
  /** Samples of the past in OpenMetrics text (seconds, ending in `# EOF`), stored before the server starts. */
  readonly openMetrics?: string | Iterable<string>;
  /** A folder that `makeBlocks` has filled; the server works on a copy. */
  readonly blocks?: string;
  /** The whole configuration file. @default no scrapes, an out-of-order window of 12 hours */
  readonly config?: string;
  /** The port to listen on. @default a free one */
  readonly port?: number;
  /** More flags, for instance `--enable-feature=promql-extended-range-selectors`. */
  readonly flags?: readonly string[];
  /**
   * The oldest version that is good enough. Below 3.0 the server takes remote write but no OTLP.
   * @default the one that the tool table asks for tests
   */
  readonly minimum?: Version;
}

/** A real Prometheus on 127.0.0.1 that scrapes nothing. */
export interface PrometheusHandle {
  /** Without a slash at the end. */
  readonly url: string;
  readonly pid: number;
  /** The last lines of its log. */
  log(): string;
  /** Ends the server and removes what it stored. */
  stop(): Promise<void>;
  /** Ends the server as a crash would and keeps what it stored, for `restart`. */
  kill9(): Promise<void>;
  /** Starts the server again on the same port and data. */
  restart(): Promise<void>;
}

const configDefault = "global: {}\nstorage:\n  tsdb:\n    out_of_order_time_window: 12h\n";
const backfillMsMax = 300_000;
const startTriesMax = 3;
const fetchMsMax = 2_000;
/** The longest that promtool knows, since it reads its whole input again for every block. */
const blockDuration = "200h";

/**
 * Starts a Prometheus that keeps samples of any age and takes remote write and OTLP, and resolves when it answers.
 *
 * @throws Error with promtool's words when it refuses the text, or the last lines of the server's log
 */
export async function startPrometheus(options: PrometheusOptions = {}): Promise<PrometheusHandle> {
  const folder = await temporaryFolder("prometheus");
  try {
    const wanted = options.minimum === undefined ? {} : { minimum: options.minimum };
    const command = await resolveTool("prometheus", wanted);
    const dataDir = join(folder.path, "data");
    if (options.openMetrics !== undefined) {
      const promtool = await resolveTool("promtool", wanted);
      await backfill(promtool, options.openMetrics, folder.path, dataDir);
    }
    if (options.blocks !== undefined) await cp(options.blocks, dataDir, { recursive: true });
    const configPath = join(folder.path, "prometheus.yml");
    await writeFile(configPath, options.config ?? configDefault);
    const flags = [
      `--config.file=${configPath}`,
      `--storage.tsdb.path=${dataDir}`,
      "--storage.tsdb.retention.time=100y",
      "--web.enable-remote-write-receiver",
      ...((await takesOtlp(command)) ? ["--web.enable-otlp-receiver"] : []),
      ...(options.flags ?? []),
    ];
    let { server, url } = await launch(command, flags, options.port);
    return {
      url,
      get pid() {
        return server.pid;
      },
      log: () => server.log(),
      kill9: () => server.kill9(),
      restart: async () => {
        await server.stop();
        ({ server, url } = await launch(command, flags, Number(new URL(url).port)));
      },
      stop: async () => {
        await server.stop();
        await folder.remove();
      },
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

async function launch(
  command: string,
  flags: readonly string[],
  port?: number,
): Promise<{ server: ServerProcess; url: string }> {
  for (let tries = 1; ; tries += 1) {
    const address = `127.0.0.1:${port ?? (await freePort())}`;
    const url = `http://${address}`;
    try {
      const server = await startServerProcess({
        name: "prometheus",
        command,
        args: [...flags, `--web.listen-address=${address}`],
        ready: async () => (await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(fetchMsMax) })).ok,
      });
      return { server, url };
    } catch (error) {
      const portWasTaken = String(error).includes("address already in use");
      if (!portWasTaken || tries >= startTriesMax) throw error;
    }
  }
}

/** Prometheus 2 has no such flag and would not start with it. */
async function takesOtlp(command: string): Promise<boolean> {
  const { stdout, stderr } = await run(command, ["--help"], { timeoutMs: fetchMsMax * 5 });
  return `${stdout}${stderr}`.includes("web.enable-otlp-receiver");
}

/** Stores samples of the past in a folder, for servers that start with the same samples. @throws Error of promtool */
export async function makeBlocks(openMetrics: Iterable<string>, target: string, timeoutMs: number): Promise<void> {
  const folder = await temporaryFolder("blocks");
  try {
    await backfill(await resolveTool("promtool"), openMetrics, folder.path, target, timeoutMs);
  } finally {
    await folder.remove();
  }
}

async function backfill(
  promtool: string,
  text: string | Iterable<string>,
  folder: string,
  dataDir: string,
  timeoutMs = backfillMsMax,
): Promise<void> {
  const input = join(folder, "backfill.om");
  await pipeline(Readable.from(typeof text === "string" ? [text] : text), createWriteStream(input));
  const args = ["tsdb", "create-blocks-from", "openmetrics", `--max-block-duration=${blockDuration}`, "--quiet"];
  const made = await run(promtool, [...args, input, dataDir], { cwd: dirname(dataDir), timeoutMs });
  if (made.code !== 0) throw new Error(`promtool did not take the samples: ${made.stderr.trim()}`);
}
