import { freePort } from "../support/free-port.ts";
import { startProgram, type Program } from "../support/heliograph-process.ts";

/** A runtime pod: a process that comes back on the same ports under the same name. */
export interface Pod {
  readonly url: string;
  readonly adminUrl: string;
  /** Resolves when the pod is ready. */
  start(): Promise<void>;
  /** Ends the pod: at once, or as a rolling update would. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  /** Sends a signal to the running process; none when it does not run. */
  signal(signal: NodeJS.Signals): void;
  /** Warnings and errors of its logs so far. */
  faults(): readonly string[];
}

const startTriesMax = 3;
const warnLevel = 40;
const faultsMax = 2_000;

/** Prepares a pod with this environment; `start` starts it. */
export async function preparePod(name: string, environment: Readonly<Record<string, string>>): Promise<Pod> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const own = { HELIOGRAPH_POD_NAME: name, HELIOGRAPH_PORT: String(port), HELIOGRAPH_ADMIN_PORT: String(adminPort) };
  const faults: string[] = [];
  let program: Program | undefined;
  const end = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    const ending = program;
    program = undefined;
    ending?.signal(signal);
    await ending?.ended();
    faults.push(...(ending === undefined ? [] : faultsOf(ending)));
    faults.splice(0, faults.length - faultsMax);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    start: async () => {
      for (let tries = 1; ; tries += 1) {
        program = startProgram(["runtime"], { environment: { ...environment, ...own } });
        try {
          await program.ready();
          return;
        } catch (error) {
          await end("SIGKILL");
          // While the pod was away, an outgoing connection may have taken its port.
          if (tries >= startTriesMax) throw error;
        }
      }
    },
    end,
    signal: (signal) => program?.signal(signal),
    faults: () => [...faults, ...(program === undefined ? [] : faultsOf(program))],
  };
}

function faultsOf(program: Program): readonly string[] {
  return program.logLines().flatMap((line) => (Number(line["level"]) >= warnLevel ? [JSON.stringify(line)] : []));
}
