import type { Flag } from "../command-line/flag.ts";

/** Every flag. `docs/reference/operator.md` holds the same; a test compares them. */
export const flags = [
  {
    name: "namespace",
    value: "NS",
    help:
      "Namespace of the installation: its Lease, its shards and the runtime's Service. Without it, the pod's own, " +
      "or the kubeconfig's.",
  },
  {
    name: "watch-namespaces",
    value: "NS",
    help: "Namespaces whose resources are applied; several may be separated by commas. Without it, the installation's.",
    multiple: true,
  },
  { name: "all-namespaces", help: "Applies the resources of every namespace." },
  {
    name: "selector",
    value: "SELECTOR",
    help: "Labels that resources must have; others belong to another installation.",
  },
  {
    name: "runtime-service",
    value: "NAME",
    help: "Service whose ready pods must apply a resource before it is Programmed.",
    standard: "heliograph-runtime",
  },
  {
    name: "runtime-port",
    value: "NAME",
    help: "Name of the Service's port at which pods answer /configz.",
    standard: "admin",
  },
  {
    name: "runtime-url",
    value: "URL",
    help: "URL of a runtime to poll instead of the Service's pods.",
    multiple: true,
  },
  {
    name: "policy",
    value: "FILE",
    help: "Policy of what namespaces may name, as YAML; read again when it changes. Without it, everything.",
  },
  {
    name: "policy-config-map",
    value: "NAME",
    help: "ConfigMap in the installation's namespace whose entry policy.yaml is mounted as --policy; watched.",
  },
  {
    name: "config-prefix",
    value: "PREFIX",
    help: "First part of the names of the shards and of the Lease.",
    standard: "heliograph",
  },
  {
    name: "shards",
    value: "N",
    help: "Shards of resources, 1 to 100; the runtime needs the same value.",
    standard: "32",
  },
  {
    name: "key-shards",
    value: "N",
    help: "Shards of key material, 1 to 100; the runtime needs the same value.",
    standard: "8",
  },
  {
    name: "lease-seconds",
    value: "SECONDS",
    help: "Another replica takes the lead when the leader wrote nothing for so long.",
    standard: "15",
  },
  {
    name: "lease-renew-seconds",
    value: "SECONDS",
    help: "The leader stops when no renewal succeeded for so long.",
    standard: "10",
  },
  {
    name: "lease-retry-seconds",
    value: "SECONDS",
    help: "Time from one attempt to renew or take the lead to the next.",
    standard: "2",
  },
  {
    name: "last-good-seconds",
    value: "SECONDS",
    help:
      "How long the last good version of an object stays in force while a Secret of it cannot be read, 0 to " +
      "2592000.",
    standard: "604800",
  },
  { name: "identity", value: "NAME", help: "Name of this replica. Without it, the host's with a random part." },
  {
    name: "workers",
    value: "N",
    help: "Resources of each kind whose status is decided at once, 1 to 64.",
    standard: "16",
  },
  {
    name: "metrics-port",
    value: "PORT",
    help: "Port of /metrics, /healthz and /readyz; 0 picks a free one.",
    standard: "9090",
  },
  { name: "host", value: "ADDRESS", help: "Address that the port is opened on. Without it, every address." },
  {
    name: "kubeconfig",
    value: "PATH",
    help: "Kubeconfig of the API server. Without it, KUBECONFIG, then ~/.kube/config, then the pod's service account.",
  },
  { name: "context", value: "NAME", help: "Context of the kubeconfig. Without it, the current one." },
  {
    name: "drain-seconds",
    value: "SECONDS",
    help: "Time to write the last events after a signal.",
    standard: "5",
  },
  {
    name: "log-level",
    value: "LEVEL",
    help: "Least level that is logged: debug, info, warn or error.",
    standard: "info",
  },
] as const satisfies readonly Flag[];

export type FlagName = (typeof flags)[number]["name"];
