import { join } from "node:path";
import { resolveTool } from "../tools/resolve.ts";
import { freePort } from "./free-port.ts";
import { startServerProcess } from "./server-process.ts";
import { temporaryFolder } from "./temp-folder.ts";

/** A real VictoriaMetrics, single node, on 127.0.0.1. */
export interface VictoriaMetricsHandle {
  /** Without a slash at the end. */
  readonly url: string;
  readonly pid: number;
  /** The last lines of its log. */
  log(): string;
  /** Makes what was written before visible to queries, which takes a second or more otherwise. */
  flush(): Promise<void>;
  /** Ends the server and removes what it stored. */
  stop(): Promise<void>;
}

const fetchMsMax = 5_000;

/** Starts a VictoriaMetrics that keeps samples of any age and takes remote write, and resolves when it answers. */
export async function startVictoriaMetrics(flags: readonly string[] = []): Promise<VictoriaMetricsHandle> {
  const folder = await temporaryFolder("victoria-metrics");
  try {
    const address = `127.0.0.1:${await freePort()}`;
    const url = `http://${address}`;
    const get = (path: string): Promise<Response> =>
      fetch(`${url}${path}`, { signal: AbortSignal.timeout(fetchMsMax) });
    const server = await startServerProcess({
      name: "victoria-metrics",
      command: await resolveTool("victoria-metrics"),
      args: [
        `-storageDataPath=${join(folder.path, "data")}`,
        `-httpListenAddr=${address}`,
        "-retentionPeriod=100y",
        "-memory.allowedBytes=256MB",
        "-loggerLevel=WARN",
        ...flags,
      ],
      ready: async () => (await get("/health")).ok,
    });
    return {
      url,
      pid: server.pid,
      log: () => server.log(),
      flush: async () => void (await (await get("/internal/force_flush")).text()),
      async stop() {
        await server.stop();
        await folder.remove();
      },
    };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}
