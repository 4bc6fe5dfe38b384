import type { ExitRow } from "./end-process.ts";
import type { StartFault } from "../../runtime/program/start-error.ts";

/** Every way a command ends. `docs/reference/cli.md` holds the same table; a test compares them. */
export const exitCodes = {
  done: { code: 0, meaning: "Done; for `run` and `runtime`, drained after a signal." },
  problems: {
    code: 1,
    meaning: "The answer is no: there are problems, a difference, or a delivery that failed; each command says when.",
  },
  usage: { code: 2, meaning: "The command line or the environment is not valid." },
  folder: { code: 3, meaning: "The folder or file of the configuration cannot be read." },
  settings: { code: 4, meaning: "The settings file cannot be read or is not valid." },
  data: { code: 5, meaning: "The data folder cannot be used." },
  locked: { code: 6, meaning: "Another program uses the data folder." },
  port: { code: 7, meaning: "A port cannot be opened." },
  nats: { code: 8, meaning: "NATS cannot be reached or lacks a required feature." },
  nats_server: { code: 9, meaning: "The own nats-server cannot be started." },
  kubernetes: { code: 10, meaning: "The Kubernetes API server or the namespace is not known." },
  refused: { code: 11, meaning: "The server refused the request; the sentence says why." },
  unreachable: { code: 12, meaning: "The server cannot be reached, or its response does not arrive." },
  undecided: { code: 13, meaning: "The question cannot be judged from the data that there is." },
  migration: { code: 14, meaning: "The streams cannot be migrated, or a copy differs from its source." },
  failed: { code: 70, meaning: "Another failure; the log has the cause." },
  interrupted: { code: 130, meaning: "A second signal ended the program without a drain." },
} as const satisfies Readonly<Record<string, ExitRow>> & Readonly<Record<StartFault, ExitRow>>;

export type ExitName = keyof typeof exitCodes;
