import { createKubeClient } from "../../kube/client/client.ts";
import { openClusterAccess } from "../../kube/client/cluster-access.ts";
import type { ClusterAccess } from "../../kube/client/credentials.ts";
import { forwardPort } from "../../kube/client/port-forward.ts";
import { migrate, type Migration, type ServerForward } from "../../runtime/migration/migrate.ts";
import { StartError, startStep } from "../../runtime/program/start-error.ts";
import { version } from "../../runtime/version.ts";
import type { ExitName } from "../command-line/command.ts";

export interface MigrateArguments {
  readonly release: string;
  readonly namespace?: string;
  readonly kubeconfig?: string;
}

const natsPort = 4222;
const metrics = { requests: { inc: () => undefined } };

/**
 * `heliograph nats migrate`: copies the streams of a release to the servers of `nats.migration`. Writes one line per
 * step to standard output. @throws StartError `kubernetes`, `migration`
 */
export async function migrateStreams({ release, namespace, kubeconfig }: MigrateArguments): Promise<ExitName> {
  const access = await startStep("kubernetes", "the API server cannot be used", () =>
    openClusterAccess({ path: kubeconfig }),
  );
  const place = namespace ?? access.namespace;
  if (place === undefined) throw new StartError("kubernetes", "the namespace is unknown; set --namespace");
  const client = createKubeClient({ access, userAgent: `heliograph/${version}`, metrics });
  const migration: Migration = {
    client,
    namespace: place,
    release,
    forward: (servers) => forwardTo(access, place, `${servers.name}-0`),
    say: (sentence) => void process.stdout.write(`${sentence}\n`),
  };
  try {
    await startStep("migration", "not migrated", () => migrate(migration));
    return "done";
  } finally {
    await client.close();
  }
}

async function forwardTo(access: ClusterAccess, namespace: string, pod: string): Promise<ServerForward> {
  const forward = await forwardPort(access, () => Promise.resolve({ namespace, pod, port: natsPort }));
  return { url: `tls://localhost:${forward.port}`, close: () => forward.close() };
}
