// Preloaded by servers that tests start as child processes: records their exchanges for the tests' process.
import { appendFileSync } from "node:fs";
import { lineOf, observeServers, recordingVariable } from "./exchange.ts";

/** Exchanges of one kind, and bytes of a response, that are recorded at most. */
const ofKindMax = 50;
const bytesMax = 1024 * 1024;

const file = process.env[recordingVariable];
const counts = new Map<string, number>();

if (file !== undefined) {
  observeServers((exchange) => {
    const kind = `${exchange.method} ${exchange.route} ${exchange.status}`;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    if (count <= ofKindMax && (exchange.responseBody?.length ?? 0) <= bytesMax) appendFileSync(file, lineOf(exchange));
  });
}
