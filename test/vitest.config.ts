import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Suffixes of the suites that start real servers; every other test is a unit test. */
const serverSuites = ["nats", "store", "kube", "cluster"] as const;

/** Suites with servers wait more than they compute, so that two of their files run at once on two cores. */
const filesAtOnce = { nats: 2, store: 2, kube: 2, cluster: 1 } as const;
/** Suites with the same place run at the same time. */
const places = { nats: 1, store: 1, kube: 2, cluster: 3 } as const;

/** Responses of every suite are compared with the served OpenAPI document. */
const setupFiles = ["test/contract/setup.ts"];

/**
 * One project per kind of server, so that a command starts (and builds) only what it needs. Each file owns its servers,
 * ports and folders; a cluster takes the whole machine.
 */
export default defineConfig({
  root,
  test: {
    projects: [
      {
        root,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: serverSuites.map((suite) => `test/**/*.${suite}.test.ts`),
          // Nothing happens at import, so that files may share a process: half the CPU time of one process each.
          isolate: false,
          setupFiles,
          // Two at least: most of what a unit test takes is waiting, not computing.
          maxWorkers: "100%",
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      ...serverSuites.map((suite) => ({
        root,
        test: {
          name: suite,
          include: [`test/**/*.${suite}.test.ts`],
          maxWorkers: filesAtOnce[suite],
          sequence: { groupOrder: places[suite] },
          globalSetup: ["test/support/suite-tools.ts"],
          setupFiles,
          // They only end what hangs: a busy host may slow a machine to a fourth of its speed.
          testTimeout: suite === "cluster" ? 600_000 : 360_000,
          hookTimeout: suite === "cluster" ? 900_000 : 360_000,
        },
      })),
    ],
  },
});
