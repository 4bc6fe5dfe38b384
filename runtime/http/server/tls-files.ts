import { constants } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Server } from "node:net";
import { createSecureContext, type SecureContextOptions, Server as TlsServer } from "node:tls";
import type { Logger } from "pino";
import type { TlsSettings } from "../../config/settings/settings.ts";

/** Period at which the files are read. */
const pollMs = 10_000;

/** Certificate, key and authorities of a server, in files that other programs replace. */
export interface TlsFiles {
  /** Contents of the files when they were opened. */
  readonly options: SecureContextOptions;
  /**
   * Updates a server with the contents of the files. Invalid contents are logged and change nothing. Open connections
   * keep their certificate. Returns a function that ends the updates.
   */
  follow(server: Server, log: Logger, everyMs?: number): () => void;
}

/** @throws Error when a file cannot be read, or the key does not match the certificate */
export async function openTlsFiles(settings: TlsSettings): Promise<TlsFiles> {
  const options = await readOptions(settings);
  createSecureContext(options);
  return {
    options,
    follow: (server, log, everyMs = pollMs) => {
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

/** Polls, since a mounted Secret is replaced by a change of links, for which some systems send no file event. */
function follow(followed: Followed, first: SecureContextOptions, everyMs: number): () => void {
  let current = first;
  let isReading = false;
  const timer = setInterval(() => {
    if (isReading) return;
    isReading = true;
    void replaced(followed, current).then((next) => {
      current = next;
      isReading = false;
    });
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Never rejects. Returns the contents that were read last, so that an invalid file is logged once. */
async function replaced(
  { settings, server, log }: Followed,
  current: SecureContextOptions,
): Promise<SecureContextOptions> {
  let seen = current;
  try {
    seen = await readOptions(settings);
    if (isSame(seen, current)) return current;
    server.setSecureContext(seen);
    log.info({ certFile: settings.certFile }, "certificate replaced");
  } catch (error) {
    log.warn({ certFile: settings.certFile, err: error }, "certificate unusable, previous certificate kept");
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
    // A connection shows one certificate for its whole life.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}

/** Node reads an empty text as no certificate, so a file that is being written would end TLS for all connections. */
async function readPem(file: string): Promise<string> {
  const text = await readFile(file, "utf8");
  if (!text.includes("-----END ")) throw new Error(`${file} is not PEM`);
  return text;
}
