// Compares every exchange of the servers that tests start with the OpenAPI document that they serve.
import { subscribe } from "node:diagnostics_channel";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { afterEach } from "vitest";

interface Found {
  readonly faults: string[];
}

/** Files of the unit tests share a process, which subscribes once. */
const shared = globalThis as { heliographContract?: Found };

if (shared.heliographContract === undefined) {
  const faults: string[] = [];
  shared.heliographContract = { faults };
  subscribe("fastify.initialization", (message) => {
    const { fastify } = message as { readonly fastify: FastifyInstance };
    fastify.addHook("onSend", async (request, reply, payload) => {
      faults.push(...(await faultsOf(request, reply, payload)));
      return payload;
    });
  });
}

/** Returns what was found since the last call. */
export function takeFaults(): readonly string[] {
  return [...new Set(shared.heliographContract?.faults.splice(0))];
}

afterEach(() => {
  const faults = takeFaults();
  if (faults.length > 0) throw new Error(`not as the served OpenAPI document says:\n${faults.join("\n")}`);
});

async function faultsOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<readonly string[]> {
  const isEncoded = reply.getHeader("content-encoding") !== undefined;
  if (isEncoded || (typeof payload !== "string" && !(payload instanceof Uint8Array))) return [];
  const { faultsOf: check } = await import("./contract.ts");
  return check({
    method: request.method,
    route: request.routeOptions.url ?? "",
    target: request.raw.url ?? "",
    status: reply.statusCode,
    requestBody: request.body instanceof Uint8Array ? request.body : undefined,
    mediaType: String(reply.getHeader("content-type") ?? "").split(";")[0] ?? "",
    responseBody: payload,
  });
}
