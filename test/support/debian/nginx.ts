import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DebianServer } from "../../tools/debian-server.ts";
import { freePort } from "../free-port.ts";
import { startServerProcess } from "../server-process.ts";
import { temporaryFolder } from "../temp-folder.ts";

/** A real nginx on 127.0.0.1 that forwards every request to one server, with the default buffers. */
export interface NginxHandle {
  readonly url: string;
  stop(): Promise<void>;
}

const startTriesMax = 3;

/**
 * Starts an nginx and resolves when it answers.
 *
 * @param found the result of `findDebianServer("nginx")`
 * @param target origin of the server behind it
 * @throws Error with the last lines of its log when it does not come up
 */
export async function startNginx(found: DebianServer, target: string): Promise<NginxHandle> {
  if ("missing" in found) throw new Error(found.missing);
  const folder = await temporaryFolder("nginx");
  const file = join(folder.path, "nginx.conf");
  for (let tries = 1; ; tries += 1) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    await writeFile(file, configuration(folder.path, port, target));
    try {
      const server = await startServerProcess({
        name: "nginx",
        command: found.command,
        env: found.env,
        args: ["-p", folder.path, "-c", file, "-e", "stderr"],
        ready: async () => (await fetch(`${url}/ready-of-nginx`)).status === 204,
      });
      return {
        url,
        async stop() {
          await server.stop();
          await folder.remove();
        },
      };
    } catch (error) {
      if (String(error).includes("Address already in use") && tries < startTriesMax) continue;
      await folder.remove();
      throw error;
    }
  }
}

/** `proxy_buffer_size` is the default: one page, 4 KB. */
function configuration(folder: string, port: number, target: string): string {
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  return `
daemon off;
master_process off;
pid ${join(folder, "nginx.pid")};
error_log stderr;
events {}
http {
  access_log off;
  ${paths.join("\n  ")}
  server {
    listen 127.0.0.1:${port};
    location = /ready-of-nginx { return 204; }
    location / { proxy_pass ${target}; }
  }
}
`;
}
