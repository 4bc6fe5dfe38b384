import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Gauge, type Registry } from "prom-client";
import type { PartnerConfig, RuntimeConfig } from "../../crds/config.ts";

/**
 * What ends: a signing key with a `notAfter`; the client certificate and the trusted authorities of an endpoint; the
 * certificate of the public port and the authorities of its clients; the authorities of NATS and the client certificate
 * for it.
 */
type ExpirationKind =
  | "signing_key"
  | "endpoint_client"
  | "endpoint_ca"
  | "server"
  | "client_ca"
  | "nats_ca"
  | "nats_client";

interface Expiration {
  readonly kind: ExpirationKind;
  /** `namespace/name`; empty for the installation. */
  readonly partner: string;
  /** Id of the key; empty for a certificate. */
  readonly key: string;
  readonly atMs: number;
}

interface CertificateFile {
  readonly kind: "server" | "client_ca" | "nats_ca" | "nats_client";
  readonly path: string | undefined;
}

/** Series of the metric: those that end first. */
const shownMax = 100;
const secondMs = 1_000;
const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/gu;

/** Shows the ends of keys and certificates in use as a metric, computed at each scrape. */
export class Expirations {
  readonly #files: CertificateFile[] = [];
  #configured: readonly Expiration[] = [];
  /** Ends by PEM text, since parsing a certificate takes longer than all else. */
  #parsed = new Map<string, number>();

  /** @param now Unix milliseconds */
  constructor(registry: Registry, now: () => number = Date.now) {
    const gauge = new Gauge({
      registers: [registry],
      name: "heliograph_expiry_timestamp_seconds",
      help: `Time at which a key or certificate in use ends; of the ${shownMax} that end first; Unix seconds.`,
      labelNames: ["kind", "partner", "key"] as const,
      collect: async () => {
        const shown = await this.#shown(now());
        gauge.reset();
        for (const { kind, partner, key, atMs } of shown) gauge.set({ kind, partner, key }, atMs / secondMs);
      },
    });
  }

  /** Follows certificates in files that other programs replace. */
  addFiles(files: readonly CertificateFile[]): void {
    this.#files.push(...files);
  }

  /** Follows the keys and certificates of a configuration. */
  apply({ partners, material }: Pick<RuntimeConfig, "partners" | "material">): void {
    const before = this.#parsed;
    this.#parsed = new Map();
    const endOf = (id: string | undefined, choose: (ends: readonly number[]) => number): number => {
      const pem = id === undefined ? "" : Buffer.from(material[id] ?? "", "base64").toString();
      const atMs = this.#parsed.get(pem) ?? before.get(pem) ?? endOfPem(pem, choose);
      this.#parsed.set(pem, atMs);
      return atMs;
    };
    this.#configured = partners.flatMap((partner) => [
      ...keysOf(partner),
      ...certificatesOf(partner, {
        endpoint_client: endOf(partner.endpoint.tls?.client?.certificate, firstOf),
        endpoint_ca: endOf(partner.endpoint.tls?.ca, lastOf),
      }),
    ]);
  }

  async #shown(nowMs: number): Promise<readonly Expiration[]> {
    const files = await Promise.all(this.#files.map(ofFile));
    // A key that has ended did so as its resource demands. A certificate that has ended fails connections.
    const all = [...files, ...this.#configured].filter(
      ({ kind, atMs }) => Number.isFinite(atMs) && (kind !== "signing_key" || atMs > nowMs),
    );
    return all.sort((one, other) => one.atMs - other.atMs).slice(0, shownMax);
  }
}

function keysOf({ namespace, name, signing }: PartnerConfig): readonly Expiration[] {
  return signing.keys.flatMap(({ id, notAfterMs }): readonly Expiration[] =>
    notAfterMs === undefined
      ? []
      : [{ kind: "signing_key", partner: `${namespace}/${name}`, key: id, atMs: notAfterMs }],
  );
}

function certificatesOf(
  { namespace, name }: PartnerConfig,
  ends: Readonly<Record<"endpoint_client" | "endpoint_ca", number>>,
): readonly Expiration[] {
  const kinds = ["endpoint_client", "endpoint_ca"] as const;
  return kinds.map((kind) => ({ kind, partner: `${namespace}/${name}`, key: "", atMs: ends[kind] }));
}

async function ofFile({ kind, path }: CertificateFile): Promise<Expiration> {
  const choose = kind === "server" || kind === "nats_client" ? firstOf : lastOf;
  // A file that cannot be read is a fault that its own reader logs.
  const pem = path === undefined ? "" : await readFile(path, "utf8").catch(() => "");
  return { kind, partner: "", key: "", atMs: endOfPem(pem, choose) };
}

/** A chain begins with the certificate that is shown. */
function firstOf(ends: readonly number[]): number {
  return ends[0] ?? Number.NaN;
}

/** A bundle of authorities serves until its last one ends. */
function lastOf(ends: readonly number[]): number {
  return Math.max(...ends);
}

/** Unix milliseconds; not finite when the text holds no certificate. */
function endOfPem(pem: string, choose: (ends: readonly number[]) => number): number {
  const ends = [...pem.matchAll(pemCertificate)].flatMap(([text]) => {
    try {
      return [new X509Certificate(text).validToDate.getTime()];
    } catch {
      return [];
    }
  });
  return choose(ends);
}
