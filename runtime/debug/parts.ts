import { open } from "node:fs/promises";
import { readBoundedBody } from "../../network/bounded-body.ts";
import { Agent, overlappingConnector, request } from "../../network/undici-connector.ts";
import { connectNats } from "../nats/connection/connect.ts";
import type { NatsAccess } from "../nats/connection/nats-access.ts";
import { readStreamStates } from "../nats/streams/stream-states.ts";
import { type BundlePart, partBytesMax } from "./collect.ts";
import { maskLogLines, maskMetrics, maskValue } from "./mask-text.ts";

const logBytesMax = 1024 * 1024;
const connectMsMax = 5_000;
const natsMsMax = 5_000;

/** Health, configuration and metrics of one admin port. */
export function adminParts(url: string, folder: string): readonly BundlePart[] {
  const json = (path: string): BundlePart => ({
    name: `${folder}/${path}.json`,
    read: async (signal) => prettyJson(maskValue(JSON.parse(await readAdmin(`${url}/${path}`, signal)))),
  });
  const metrics: BundlePart = {
    name: `${folder}/metrics.txt`,
    read: async (signal) => maskMetrics(await readAdmin(`${url}/metrics`, signal)),
  };
  return [json("healthz"), json("readyz"), json("configz"), metrics];
}

/** Reads a page of an admin port. A 503 of `/readyz` is a result like another. @throws Error for another status */
export async function readAdmin(url: string, signal: AbortSignal): Promise<string> {
  const dispatcher = new Agent({ connect: overlappingConnector({ timeout: connectMsMax }) });
  try {
    const { statusCode, body } = await request(url, { signal, dispatcher });
    if (statusCode >= 400 && statusCode !== 503) throw new Error(`${url} responded with ${statusCode}`);
    return (await readBoundedBody(body, partBytesMax, url)).toString();
  } finally {
    await dispatcher.destroy();
  }
}

/** State of all streams and their consumers, without a message. */
export function natsPart(access: NatsAccess): BundlePart {
  return {
    name: "nats.json",
    read: async () => {
      const nats = await connectNats({ ...access, firstConnectionTimeoutMs: natsMsMax });
      try {
        return prettyJson(await readStreamStates(nats));
      } finally {
        await nats.drain();
      }
    },
  };
}

/** The last lines of a log. @param file `-` is the standard input */
export function logPart(file: string, name: string): BundlePart {
  return { name, read: async (signal) => maskLogLines(await lastLines(file, signal)) };
}

async function lastLines(file: string, signal: AbortSignal): Promise<string> {
  const text = file === "-" ? await standardInput(signal) : await endOf(file);
  const whole = text.length > logBytesMax;
  const end = whole ? text.subarray(-logBytesMax) : text;
  // The first line of the rest is cut.
  return end.toString().slice(whole ? end.indexOf("\n") + 1 : 0);
}

async function endOf(file: string): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const bytes = Buffer.alloc(Math.min(size, logBytesMax + 1));
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, size - bytes.length);
    return bytes.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function standardInput(signal: AbortSignal): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes = Buffer.concat([bytes, chunk]).subarray(-logBytesMax - 1);
    if (signal.aborted) break;
  }
  return bytes;
}

export function prettyJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
