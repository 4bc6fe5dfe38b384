import type { StartFault } from "../start-error.ts";

interface ExitRow {
  readonly code: number;
  readonly meaning: string;
}

/** Every way the program ends. `docs/operator.md` holds the same table; a test compares them. */
export const exitCodes = {
  done: { code: 0, meaning: "Ended by a signal, the lead handed over." },
  usage: { code: 2, meaning: "The command line or the environment is not valid." },
  kubeconfig: { code: 3, meaning: "There is no usable way to an API server." },
  policy: { code: 4, meaning: "The policy cannot be read or is not valid." },
  port: { code: 7, meaning: "The port of probes and metrics cannot be listened on." },
  failed: { code: 70, meaning: "Something failed that is not listed here; the log says what." },
  interrupted: { code: 130, meaning: "A second signal ended the program at once." },
} as const satisfies Readonly<Record<string, ExitRow>> & Readonly<Record<StartFault, ExitRow>>;

export type ExitName = keyof typeof exitCodes;
