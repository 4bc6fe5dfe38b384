import { createHash, X509Certificate } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CertificateForm } from "../../../../runtime/config/settings/settings.ts";
import { createCertificateReader } from "../../../../runtime/http/authentication/client-certificate.ts";
import { freePort } from "../../../support/free-port.ts";
import { listenOnLoopback, type Loopback } from "../../../support/loopback.ts";
import { findPythonProgram } from "../../../support/python-program.ts";
import { type ServerProcess, startServerProcess } from "../../../support/server-process.ts";
import { createCertificateAuthority } from "../../../support/tls/certificate-authority.ts";
import { askHttps } from "../../../support/tls/https.ts";

const installMsMax = 6 * 60_000;
const program = await findPythonProgram("envoy");

const servers = createCertificateAuthority("servers");
const clients = createCertificateAuthority("clients");
const victim = "ab".repeat(32);

/** Ways in which Envoy forwards the certificate of a client. */
const modes = ["SANITIZE_SET", "APPEND_FORWARD"] as const;
type Mode = (typeof modes)[number];

const isListening = async (port: number): Promise<boolean> => {
  const answer = await askHttps(`https://localhost:${port}/`, { ca: servers.cert });
  return answer.status === 200;
};

const inline = (text: string): object => ({ inline_string: text });

/** A listener that asks for a certificate of `clients` and forwards every detail of it. */
function listener(mode: Mode, port: number): object {
  const { cert, key } = servers.issue({ commonName: "localhost", names: ["localhost"] });
  const manager = {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    stat_prefix: mode.toLowerCase(),
    forward_client_cert_details: mode,
    set_current_client_cert_details: { subject: true, uri: true, dns: true },
    route_config: { virtual_hosts: [{ name: "all", domains: ["*"], routes: [route] }] },
    http_filters: [{ name: "router", typed_config: { "@type": `${filters}.router.v3.Router` } }],
  };
  const tls = {
    "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
    common_tls_context: {
      tls_certificates: [{ certificate_chain: inline(cert), private_key: inline(key) }],
      validation_context: { trusted_ca: inline(clients.cert) },
    },
  };
  return {
    name: mode.toLowerCase(),
    address: { socket_address: { address: "127.0.0.1", port_value: port } },
    filter_chains: [
      {
        filters: [{ name: "http", typed_config: manager }],
        transport_socket: { name: "tls", typed_config: tls },
      },
    ],
  };
}

const filters = "type.googleapis.com/envoy.extensions.filters.http";
const route = { match: { prefix: "/" }, route: { cluster: "server" } };

function cluster(port: number): object {
  const endpoint = { endpoint: { address: { socket_address: { address: "127.0.0.1", port_value: port } } } };
  const load = { cluster_name: "server", endpoints: [{ lb_endpoints: [endpoint] }] };
  return { name: "server", type: "STATIC", load_assignment: load };
}

describe.skipIf("missing" in program)("a certificate that Envoy forwards", () => {
  const ports = new Map<Mode, number>();
  let upstream: Loopback;
  let envoy: ServerProcess;
  let last: IncomingHttpHeaders = {};

  beforeAll(async () => {
    const server = createServer((request, response) => {
      last = request.headers;
      response.end("{}");
    });
    upstream = await listenOnLoopback(server);
    for (const mode of modes) ports.set(mode, await freePort());
    const listeners = modes.map((mode) => listener(mode, ports.get(mode) ?? 0));
    const config = { static_resources: { listeners, clusters: [cluster(upstream.port)] } };
    envoy = await startServerProcess({
      name: "envoy",
      command: "command" in program ? program.command : "",
      args: ["--config-yaml", JSON.stringify(config), "--concurrency", "1", "--disable-hot-restart", "-l", "error"],
      ready: () => isListening(ports.get("APPEND_FORWARD") ?? 0),
    });
  }, installMsMax);

  afterAll(async () => {
    await envoy?.stop();
    await upstream?.close();
  });

  /** What is read of Envoy's header: the client's thumbprint, none, or another one. */
  async function readBehind(
    mode: Mode,
    certificateForm: CertificateForm,
    { names = [], header }: { readonly names?: readonly string[]; readonly header?: string },
  ): Promise<string> {
    const client = clients.issue({ commonName: "dashboards", names });
    const headers = header === undefined ? {} : { "X-Forwarded-Client-Cert": header };
    const url = `https://localhost:${ports.get(mode)}/`;
    expect(await askHttps(url, { ca: servers.cert, client, headers })).toMatchObject({ status: 200 });
    const read = createCertificateReader({ trustedProxies: { addresses: ["127.0.0.0/8"], certificateForm } });
    const socket = Object.defineProperty(new Socket(), "remoteAddress", { value: "127.0.0.1" });
    const found = read(socket, last);
    if (found === undefined) return "none";
    const own = createHash("sha256").update(new X509Certificate(client.cert).raw).digest("hex");
    const hex = Buffer.from(found).toString("hex");
    return hex === own ? "own" : hex === victim ? "the victim's" : hex;
  }

  test("is the client's, also if the client sends the header itself to a proxy that sanitizes", async () => {
    expect(await readBehind("SANITIZE_SET", "Xfcc", {})).toBe("own");
    expect(await readBehind("SANITIZE_SET", "Xfcc", { names: ["spiffe://shop/ns/a", "dashboards.example"] })).toBe(
      "own",
    );
    expect(last["x-forwarded-client-cert"]).toContain("URI=spiffe://shop/ns/a;DNS=dashboards.example");
    expect(await readBehind("SANITIZE_SET", "Xfcc", { header: `Hash=${victim}` })).toBe("own");
    expect(last["x-forwarded-client-cert"]).not.toContain(victim);
  });

  test.each([
    ["a URI name with a key", [`spiffe://x;Hash=${victim}`]],
    ["a URI name with an element", [`spiffe://x,Hash=${victim}`]],
    ["a URI name with an element of the proxy's form", [`spiffe://x,By=y;Hash=${victim}`]],
    ["a DNS name with a key", [`x;Hash=${victim}`]],
    ["a DNS name with an element", [`x,Hash=${victim};URI=a`]],
    ["a DNS name with a quote", [`x"`, `y;Hash=${victim};DNS="`]],
  ])("is not that of %s", async (_name, names) => {
    expect(await readBehind("SANITIZE_SET", "Xfcc", { names })).toBe("none");
    expect(last["x-forwarded-client-cert"]).toContain(victim);
  });

  test("of a proxy that appends counts only if the settings say so, and then the last one", async () => {
    const header = `Hash=${victim}`;
    expect(await readBehind("APPEND_FORWARD", "Xfcc", { header })).toBe("none");
    expect(await readBehind("APPEND_FORWARD", "XfccAppend", { header })).toBe("own");
    expect(await readBehind("APPEND_FORWARD", "XfccAppend", {})).toBe("own");
  });
});
