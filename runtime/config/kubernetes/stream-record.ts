import type { KubeClient } from "../../../kube/client/client.ts";
import { isKubeError } from "../../../kube/client/kube-error.ts";
import type { KubeObject, ResourceType } from "../../../kube/client/resource.ts";

/** Creation times by stream name. */
type Times = ReadonlyMap<string, string>;

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The record of an installation's streams outside NATS: the entries of one ConfigMap, which the chart makes. */
export type ConfigMapRecord = ReturnType<typeof createStreamRecord>;

const configMapType: ResourceType = { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps" };
/** The chart reads it before it gives the runtime other servers. */
const serversAnnotation = "heliograph.dev/nats-servers";

/** Default name of the ConfigMap. @param prefix first part of the names of the installation's Secrets */
export function streamRecordName(prefix: string): string {
  return `${prefix}-streams`;
}

/** @param recordName name of the ConfigMap */
export function createStreamRecord(client: KubeClient, namespace: string, recordName: string) {
  const ref = { namespace, name: recordName };
  const get = (): Promise<ConfigMap> => client.get<ConfigMap>(configMapType, ref);
  const put = (object: ConfigMap): Promise<ConfigMap> => client.replace(configMapType, object);
  return {
    /**
     * Reads the record; empty without a ConfigMap, or without the right to read it.
     *
     * @returns undefined when the API server does not respond
     */
    read: async () => {
      try {
        return new Map(Object.entries((await get()).data ?? {}));
      } catch (error) {
        if (isKubeError(error, "notFound", "forbidden")) return new Map();
        if (isKubeError(error)) return undefined;
        throw error;
      }
    },
    /** Adds what the record lacks; an entry that exists stays. @throws KubeError */
    add: async (found: Times) => {
      const object = await get().catch(absent);
      if (object === undefined || [...found.keys()].every((name) => object.data?.[name] !== undefined)) return;
      // The resource version of the read object makes a concurrent write a conflict.
      await put({ ...object, data: { ...Object.fromEntries(found), ...object.data } });
    },
    /** Replaces the record. `servers` names the NATS servers that hold the streams. @throws KubeError */
    replace: async (streams: Times, servers: string) => {
      const object = await get();
      const annotations = { ...object.metadata.annotations, [serversAnnotation]: servers };
      await put({ ...object, metadata: { ...object.metadata, annotations }, data: Object.fromEntries(streams) });
    },
  };
}

/** An older chart has neither the ConfigMap nor the right to it. */
function absent(error: unknown): undefined {
  if (!isKubeError(error, "notFound", "forbidden")) throw error;
  return undefined;
}
