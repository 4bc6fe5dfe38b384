import { hash } from "node:crypto";
import { expect, test } from "vitest";
import { openApiOf } from "../../../runtime/http/routes/openapi-document.ts";
import { eventRoutes } from "../../../runtime/http/routes/events.ts";
import { meRoute } from "../../../runtime/http/routes/me.ts";
import { metricsRoutes } from "../../../runtime/http/routes/metrics.ts";
import { peerRoutes } from "../../../runtime/http/routes/peers.ts";
import { prometheusRoutes } from "../../../runtime/http/routes/prometheus.ts";
import { schemaRoutes } from "../../../runtime/http/routes/schemas.ts";
import { statusRoutes } from "../../../runtime/http/routes/status.ts";
import { webhookRoutes } from "../../../runtime/http/routes/webhooks.ts";

/** Everything that routes only reach when they are called. */
const behind = new Proxy({}, { get: () => () => undefined });

const own = [
  meRoute({ version: "0.0.0" }),
  ...eventRoutes(behind as Parameters<typeof eventRoutes>[0]),
  ...webhookRoutes(behind as Parameters<typeof webhookRoutes>[0]),
  ...metricsRoutes(behind as Parameters<typeof metricsRoutes>[0]),
  ...statusRoutes(behind as Parameters<typeof statusRoutes>[0]),
  ...prometheusRoutes(behind as Parameters<typeof prometheusRoutes>[0]),
  ...peerRoutes(behind as Parameters<typeof peerRoutes>[0]),
];
const document = openApiOf([...own, ...schemaRoutes(own)]);

/** Without the sentences for people. */
function digestOf(part: unknown): string {
  const text = JSON.stringify(part, (name, value: unknown) => {
    return (name === "description" || name === "summary") && typeof value === "string" ? undefined : value;
  });
  return hash("sha256", text, "hex");
}

// Schemas are in the changelog, whose test holds their digest.
test("the paths and what they share are the ones that callers know", () => {
  const { schemas: _schemas, ...shared } = document["components"] as Readonly<Record<string, unknown>>;
  expect({ paths: digestOf(document["paths"]), shared: digestOf(shared) }).toEqual({
    paths: "c207f9f5470eb77f56f830412562827a2acb0ce465c8e1fc8f836eeb0d6940d1",
    shared: "737c40caba12088a78f22bd97c4b5ffc0c55ded64eb6bd1b6843fe8e57ab9293",
  });
});
