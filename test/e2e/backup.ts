import { join } from "node:path";
import { writeFile } from "node:fs/promises";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import type { Installation } from "./installation.ts";
import type { User } from "./user.ts";

const backupMsMax = 2 * 60_000;

/**
 * Backs up or restores JetStream as docs/how-to/install.md says: through a forwarded port, as the user `backup`, with
 * the certificate that the chart made. Returns the names of the streams.
 *
 * @param folder keeps the streams
 * @throws Error with what the program complained about
 */
export async function backupOf(
  command: "backup" | "restore",
  { cluster }: Installation,
  user: User,
  service: string,
  folder: string,
): Promise<readonly string[]> {
  const secretEntry = async (secret: string, key: string): Promise<string> => {
    const base64 = await user.kubectl([
      "get",
      "secret",
      secret,
      `--output=jsonpath={.data.${key.replaceAll(".", String.raw`\.`)}}`,
    ]);
    return Buffer.from(base64, "base64").toString();
  };
  const ca = join(folder, "ca.crt");
  await writeFile(ca, await secretEntry(`${service}-nats-tls`, "ca.crt"));
  const forward = await cluster.forward({ namespace: user.namespace, service: `${service}-nats`, port: 4222 });
  try {
    const url = `tls://localhost:${new URL(forward.url).port}`;
    const env = { USERNAME: "backup", PASSWORD: await secretEntry(`${service}-nats-auth`, "backup") };
    const { code, stdout, stderr } = await run(
      await resolveTool("nats-backup"),
      [command, url, ca, join(folder, "streams")],
      { timeoutMs: backupMsMax, env },
    );
    if (code !== 0) throw new Error(`${command}: ${stderr.trim()}`);
    return stdout.trim().split("\n");
  } finally {
    await forward.close();
  }
}
