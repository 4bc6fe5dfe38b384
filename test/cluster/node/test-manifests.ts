/** The image of the echo server, as pods name it. */
export const image = "localhost/heliograph-echo:1";

const container = {
  name: "echo",
  image,
  imagePullPolicy: "Never",
  readinessProbe: { httpGet: { path: "/ready", port: 8080 }, periodSeconds: 1 },
};

const pod = { terminationGracePeriodSeconds: 2, containers: [container] };

/** Two pods that answer with their names, behind the service `echo`. */
export function echoManifests(): string {
  return list([
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "echo" },
      spec: { replicas: 2, ...podsOf("echo"), template: { metadata: { labels: { app: "echo" } }, spec: pod } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "echo" },
      spec: { selector: { app: "echo" }, ports: [{ port: 80, targetPort: 8080 }] },
    },
  ]);
}

/** One pod with a volume of the default storage class at `/data`, for a group that is not root's. */
export function storedManifests(): string {
  const mounted = { ...container, volumeMounts: [{ name: "data", mountPath: "/data" }] };
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  return list([
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "stored" },
      spec: {
        ...podsOf("stored"),
        serviceName: "stored",
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claim }],
        template: {
          metadata: { labels: { app: "stored" } },
          spec: { ...pod, securityContext: { fsGroup: 1000 }, containers: [mounted] },
        },
      },
    },
  ]);
}

/** A pod that the restricted Pod Security standard takes; a privileged one it refuses. */
export function restrictedPod(options: { readonly name?: string; readonly privileged?: boolean }): string {
  const allowed = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] }, readOnlyRootFilesystem: true };
  const securityContext = options.privileged === true ? { privileged: true } : allowed;
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: options.name ?? "strict" },
    spec: {
      ...pod,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      containers: [{ ...container, securityContext }],
    },
  });
}

function podsOf(app: string): object {
  return { selector: { matchLabels: { app } } };
}

function list(items: readonly object[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}
