import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Layout } from "./layout.ts";
import { nodeName } from "./network.ts";

const volumesMax = 16;
const capacity = "10Gi";
const className = "local";

/**
 * Makes the folders of a fixed number of volumes and answers the manifests that offer them: there is no provisioner, so
 * a claim takes one of these for good. They are `local` and not `hostPath` volumes, because the kubelet gives only the
 * former to the group that a pod asks for.
 */
export async function createVolumes(layout: Layout): Promise<string> {
  const names = Array.from({ length: volumesMax }, (_, index) => `local-${index + 1}`);
  await Promise.all(names.map((name) => mkdir(join(layout.volumes, name), { recursive: true })));
  const items = [storageClass, ...names.map((name) => volume(name, join(layout.volumes, name)))];
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

const storageClass = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: className, annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  provisioner: "kubernetes.io/no-provisioner",
  volumeBindingMode: "WaitForFirstConsumer",
};

function volume(name: string, path: string): object {
  const onThisNode = { key: "kubernetes.io/hostname", operator: "In", values: [nodeName] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: capacity },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName: className,
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [onThisNode] }] } },
    },
  };
}
