import { pino } from "pino";
import { Registry } from "prom-client";
import { type KubeClient, createKubeClient } from "../../kube/client/client.ts";
import { kubeConfigAccess } from "../../kube/client/kube-config.ts";
import { type KubeMetrics, createKubeMetrics } from "../../kube/metrics.ts";
import type { KubeObject, ResourceType } from "../../kube/client/resource.ts";
import { type KubeApiHandle, startKubeApi } from "../support/kube-api.ts";
import { loadKubeConfig } from "./load-kube-config.ts";
import { type TcpProxy, startTcpProxy } from "../support/tcp-proxy.ts";

export const configMaps: ResourceType = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps" };
export const secrets: ResourceType = { group: "", version: "v1", kind: "Secret", plural: "secrets" };
/** A custom resource of these tests, with a status of its own. */
export const widgets: ResourceType = { group: "test.heliograph.dev", version: "v1", kind: "Widget", plural: "widgets" };

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const log = pino({ level: "silent" });

/** A real API server behind a line that a test can cut. */
export interface RealApi {
  readonly kube: KubeApiHandle;
  readonly proxy: TcpProxy;
  readonly metrics: KubeMetrics;
  /** A client whose connections all go over the line. */
  readonly client: KubeClient;
  stop(): Promise<void>;
}

/** Starts the API server, the line and a client. */
export async function startRealApi(): Promise<RealApi> {
  const kube = await startKubeApi();
  const proxy = await startTcpProxy(kube.url);
  const config = loadKubeConfig(kube.kubeconfig);
  config.clusters = config.clusters.map((cluster) => ({ ...cluster, server: `https://127.0.0.1:${proxy.port}` }));
  const metrics = createKubeMetrics(new Registry());
  const client = createKubeClient({
    access: kubeConfigAccess(() => config),
    userAgent: "heliograph-operator/test",
    metrics,
  });
  const stop = async (): Promise<void> => {
    await client.close();
    await proxy.stop();
    await kube.stop();
  };
  return { kube, proxy, metrics, client, stop };
}

/** The definition of {@link widgets}. */
export const widgetDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.test.heliograph.dev" },
  spec: {
    group: widgets.group,
    scope: "Namespaced",
    names: { plural: widgets.plural, kind: widgets.kind, listKind: "WidgetList", singular: "widget" },
    versions: [
      {
        name: widgets.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", additionalProperties: { type: "string" } },
              status: {
                type: "object",
                properties: {
                  conditions: {
                    type: "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                    items: {
                      type: "object",
                      required: ["type"],
                      properties: { type: { type: "string" }, status: { type: "string" } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};
