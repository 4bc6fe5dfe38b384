import type { Flag } from "../command-line/flags.ts";

/** Every flag. `docs/reference/operator.md` holds the same; a test compares them. */
export const flags = [
  {
    name: "namespace",
    value: "NS",
    help:
      "Namespace of the installation: its Lease, shards and runtime Service. Defaults to the pod's or the " +
      "kubeconfig's.",
  },
  {
    name: "watch-namespaces",
    value: "NS",
    help: "Namespaces whose resources are applied, separated by commas. Defaults to the installation's.",
    multiple: true,
  },
  { name: "all-namespaces", help: "Applies resources in all namespaces." },
  {
    name: "selector",
    value: "SELECTOR",
    help: "Label selector for resources; resources that do not match belong to another installation.",
  },
  {
    name: "runtime-service",
    value: "NAME",
    help: "Service whose ready pods must apply a resource before it becomes Programmed.",
    standard: "heliograph-runtime",
  },
  {
    name: "runtime-port",
    value: "NAME",
    help: "Name of the Service port that serves /configz.",
    standard: "admin",
  },
  {
    name: "runtime-url",
    value: "URL",
    help: "URL of a runtime to poll instead of the pods of the Service.",
    multiple: true,
  },
  {
    name: "policy",
    value: "FILE",
    help: "YAML policy that limits what namespaces may use; reloaded when it changes. By default nothing is limited.",
  },
  {
    name: "policy-config-map",
    value: "NAME",
    help: "ConfigMap in the installation's namespace whose key policy.yaml is mounted as --policy; watched.",
  },
  {
    name: "config-prefix",
    value: "PREFIX",
    help: "Name prefix of the shards and the Lease.",
    standard: "heliograph",
  },
  {
    name: "shards",
    value: "N",
    help: "Number of resource shards, 1 to 100; must match the runtime.",
    standard: "32",
  },
  {
    name: "key-shards",
    value: "N",
    help: "Number of key shards, 1 to 100; must match the runtime.",
    standard: "8",
  },
  {
    name: "lease-seconds",
    value: "SECONDS",
    help: "Time without a renewal after which another replica becomes the leader.",
    standard: "15",
  },
  {
    name: "lease-renew-seconds",
    value: "SECONDS",
    help: "Time without a successful renewal after which the leader stops.",
    standard: "10",
  },
  {
    name: "lease-retry-seconds",
    value: "SECONDS",
    help: "Interval between attempts to acquire or renew the Lease.",
    standard: "2",
  },
  {
    name: "last-good-seconds",
    value: "SECONDS",
    help:
      "Time that the last good version of an object stays in force while one of its Secrets cannot be read, 0 " +
      "to 2592000.",
    standard: "604800",
  },
  {
    name: "prometheus-rules",
    value: "MODE",
    help:
      "Alert rules of catalogs as PrometheusRule objects: off, write, or remove (deletes those that were written " +
      "before).",
    standard: "off",
  },
  {
    name: "prometheus-rule-label",
    value: "NAME=VALUE",
    help: "Label of these objects, by which a Prometheus or ThanosRuler selects them.",
    multiple: true,
  },
  { name: "identity", value: "NAME", help: "Name of this replica. Defaults to the host name with a random suffix." },
  {
    name: "workers",
    value: "N",
    help: "Number of resources of each kind whose status is updated concurrently, 1 to 64.",
    standard: "16",
  },
  {
    name: "metrics-port",
    value: "PORT",
    help: "Port of /metrics, /healthz and /readyz; 0 picks a free one.",
    standard: "9090",
  },
  { name: "host", value: "ADDRESS", help: "Listen address. Defaults to all addresses." },
  {
    name: "kubeconfig",
    value: "PATH",
    help: "Kubeconfig file. Defaults to KUBECONFIG, then ~/.kube/config, then the pod's service account.",
  },
  { name: "context", value: "NAME", help: "Kubeconfig context. Defaults to the current context." },
  {
    name: "drain-seconds",
    value: "SECONDS",
    help: "Time to write pending Kubernetes events after a signal.",
    standard: "5",
  },
  {
    name: "log-level",
    value: "LEVEL",
    help: "Minimum log level: debug, info, warn or error.",
    standard: "info",
  },
] as const satisfies readonly Flag[];
