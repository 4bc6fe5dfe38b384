import { constants } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Server } from "node:net";
import { createSecureContext, type SecureContextOptions, Server as TlsServer } from "node:tls";
import type { Logger } from "pino";
import type { TlsSettings } from "../../config/settings/settings.ts";

/** How often the files are looked at. */
const lookMs = 10_000;

/** Certificate, key and authorities of a server, as files that others replace. */
export interface TlsFiles {
  /** What the files held when they were opened. */
  readonly options: SecureContextOptions;
  /**
   * Keeps a server on what the files hold; what cannot be used changes nothing and is logged. Connections stay on what
   * they began with. Answers what ends it.
   */
  follow(server: Server, log: Logger, everyMs?: number): () => void;
}

/** @throws Error when a file cannot be read, or the key is not the certificate's */
export async function openTlsFiles(settings: TlsSettings): Promise<TlsFiles> {
  const options = await readOptions(settings);
  createSecureContext(options);
  return {
    options,
    follow: (server, log, everyMs = lookMs) => {
      if (!(server instanceof TlsServer)) throw new Error("a server without TLS has no certificate");
      return follow({ settings, server, log }, options, everyMs);
    },
  };
}

interface Followed {
  readonly settings: TlsSettings;
  readonly server: TlsServer;
  readonly log: Logger;
}

/** Polled, since a mounted Secret is replaced by a change of links, which file events do not tell on every system. */
function follow(followed: Followed, first: SecureContextOptions, everyMs: number): () => void {
  let current = first;
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void replaced(followed, current).then((next) => {
      current = next;
      isLooking = false;
    });
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Never rejects; answers what was last seen, so that a broken file is told of once. */
async function replaced(
  { settings, server, log }: Followed,
  current: SecureContextOptions,
): Promise<SecureContextOptions> {
  let seen = current;
  try {
    seen = await readOptions(settings);
    if (isSame(seen, current)) return current;
    server.setSecureContext(seen);
    log.info({ certFile: settings.certFile }, "the new certificate is served");
  } catch (error) {
    log.warn(
      { certFile: settings.certFile, err: error },
      "the certificate cannot be used; the one before stays in force",
    );
  }
  return seen;
}

function isSame(a: SecureContextOptions, b: SecureContextOptions): boolean {
  return a.cert === b.cert && a.key === b.key && a.ca === b.ca;
}

async function readOptions({
  certFile,
  keyFile,
  clientCaFile,
  minVersion = "TLSv1.2",
}: TlsSettings): Promise<SecureContextOptions> {
  return {
    cert: await readPem(certFile),
    key: await readPem(keyFile),
    ...(clientCaFile === undefined ? {} : { ca: await readPem(clientCaFile) }),
    minVersion,
    honorCipherOrder: true,
    // A connection is to show one certificate and keep it.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}

/** Node takes an empty text for none, so that a file that is just being written would end TLS for everybody. */
async function readPem(file: string): Promise<string> {
  const text = await readFile(file, "utf8");
  if (!text.includes("-----END ")) throw new Error(`${file} is not PEM`);
  return text;
}
