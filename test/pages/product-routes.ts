import { ApiError } from "../../runtime/errors/api-error.ts";
import { consoleRoutes } from "../../runtime/http/routes/console.ts";
import { eventRoutes } from "../../runtime/http/routes/events.ts";
import { meRoute } from "../../runtime/http/routes/me.ts";
import { metricsRoutes } from "../../runtime/http/routes/metrics.ts";
import { peerRoutes } from "../../runtime/http/routes/peers.ts";
import { previewRoutes } from "../../runtime/http/routes/preview.ts";
import { prometheusRoutes } from "../../runtime/http/routes/prometheus.ts";
import { schemaRoutes } from "../../runtime/http/routes/schemas.ts";
import { statusRoutes } from "../../runtime/http/routes/status.ts";
import { webhookRoutes } from "../../runtime/http/routes/webhooks.ts";
import type { Route } from "../../runtime/http/server/route.ts";

/** What is behind the routes: every call of it is refused. */
const behind = new Proxy(
  {},
  {
    get: () => () => {
      throw new ApiError("not_found", "There is nothing behind the routes.");
    },
  },
);

/** The routes of the product's public port, with nothing behind them. */
export function productRoutes(): readonly Route[] {
  const own: readonly Route[] = [
    meRoute({ version: "0.0.0" }),
    ...eventRoutes(behind as Parameters<typeof eventRoutes>[0]),
    ...webhookRoutes(behind as Parameters<typeof webhookRoutes>[0]),
    ...metricsRoutes(behind as Parameters<typeof metricsRoutes>[0]),
    ...statusRoutes(behind as Parameters<typeof statusRoutes>[0]),
    ...prometheusRoutes(behind as Parameters<typeof prometheusRoutes>[0]),
    ...peerRoutes(behind as Parameters<typeof peerRoutes>[0]),
    ...previewRoutes(behind as Parameters<typeof previewRoutes>[0]),
    ...consoleRoutes({ files: undefined, settings: { enabled: true }, version: "0.0.0" }),
  ];
  return [...own, ...schemaRoutes(own)];
}
