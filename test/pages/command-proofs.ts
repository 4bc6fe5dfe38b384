/**
 * How a block of commands is shown to work: by suites that run it, by suites that only render or check what it would
 * send, or not at all, which the page then says beside it.
 */
export type Proof =
  | { readonly runBy: readonly string[] }
  | { readonly checkedBy: readonly string[] }
  | { readonly neverRun: true };

const e2e = "test/e2e/e2e.cluster.test.ts";
const natsMoves = "test/e2e/nats.cluster.test.ts";
const publish = "test/release/publish.kube.test.ts";
const versions = "test/crds/versions.kube.test.ts";

/**
 * The proof of every block of README.md and docs/, by the first command of the block. A proof beside a page or folder,
 * under the name `*`, is that of all its blocks.
 */
export const commandProofs: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  "README.md": {
    "make demo": { runBy: ["test/demo/demo.store.test.ts"] },
    "helm install heliograph oci://ghcr.io/heliograph-dev/charts/heliograph --namespace heliograph --create-namespace":
      {
        checkedBy: [publish],
      },
  },
  // The program reads each of its command lines; the suites of the commands run them.
  "docs/reference/cli.md": { "*": { checkedBy: ["test/pages/command-lines.test.ts"] } },
  "docs/how-to/cluster.md": {
    "export KUBECONFIG=$(make cluster-load)": { runBy: [e2e] },
  },
  "docs/tutorials/first-delivery.md": {
    "*": { runBy: [natsMoves] },
    "export KUBECONFIG=$(make cluster-load)": { runBy: [e2e] },
    "make image": { neverRun: true },
  },
  "docs/how-to/console.md": { "*": { neverRun: true } },
  "docs/how-to/event-catalogs.md": {
    "heliograph validate docs/examples/event-catalog.yaml": { runBy: ["test/cli/configuration/validate.test.ts"] },
    "heliograph types check event.json --folder docs/examples": { checkedBy: ["test/cli/webhooks/types.test.ts"] },
    "heliograph types generate > events.ts": { checkedBy: ["test/cli/webhooks/commands.nats.test.ts"] },
  },
  "docs/how-to/monitoring.md": {
    "heliograph catalog check docs/examples --store eu=http://127.0.0.1:9090 --store latam=http://127.0.0.1:9090": {
      checkedBy: ["test/cli/metrics/catalog-check.store.test.ts"],
    },
  },
  "docs/how-to/install.md": {
    'make image ARGS="--tag registry.example.com/heliograph:0.1.0"': {
      runBy: ["test/image/image.cluster.test.ts", e2e],
    },
    "kubectl --namespace heliograph scale deployment/heliograph-runtime --replicas=0": { runBy: [e2e] },
    "helm upgrade heliograph charts/heliograph --namespace heliograph --reuse-values --wait": { runBy: [natsMoves] },
    "npx heliograph nats migrate --release heliograph --namespace heliograph": { runBy: [natsMoves] },
    "user=$(kubectl --namespace heliograph get secret heliograph-nats-auth --output jsonpath='{.data.runtime-user}' | base64 -d)":
      { runBy: ["test/chart/upgrade.kube.test.ts", natsMoves] },
    'kubectl --namespace heliograph logs --selector app.kubernetes.io/instance=heliograph,app.kubernetes.io/component=runtime --prefix --tail=-1 | grep "NATS credentials changed"':
      { runBy: [natsMoves] },
    [`kubectl --namespace heliograph patch secret heliograph-nats-auth --patch '{"data": {"runtime-previous": null, "runtime-previous-user": null}}'`]:
      { runBy: [natsMoves] },
    "kubectl --namespace heliograph patch pvc data-heliograph-nats-0": {
      runBy: ["test/chart/upgrade.kube.test.ts", e2e],
    },
    "for kind in webhookpartners metriccatalogs queryclassquotas eventcatalogs; do": {
      runBy: ["test/cli/kubectl/resources.kube.test.ts"],
    },
    "helm install other charts/heliograph --namespace heliograph --take-ownership": {
      runBy: ["test/chart/ownership.kube.test.ts"],
    },
    "kubectl delete webhookpartners,metriccatalogs,queryclassquotas,eventcatalogs --all --all-namespaces": {
      neverRun: true,
    },
    "kubectl --namespace heliograph port-forward service/heliograph-nats 4222 &": { neverRun: true },
  },
  "docs/how-to/prometheus.md": { "*": { runBy: ["test/pages/typed-pages.store.test.ts"] } },
  "docs/how-to/dashboard.md": { "*": { runBy: ["test/pages/typed-pages.store.test.ts"] } },
  "docs/how-to/query-metrics.md": { "*": { runBy: ["test/pages/typed-pages.store.test.ts"] } },
  "docs/tutorials/quickstart.md": {
    "make install": { runBy: ["test/demo/demo.store.test.ts"] },
    "npx heliograph run docs/examples": { runBy: ["test/cli/run.nats.test.ts"] },
    "*": { runBy: ["test/pages/typed-pages.store.test.ts"] },
  },
  "docs/how-to/receive-webhooks.md": {
    "make kit": { runBy: ["test/release/recipient-kit.test.ts"] },
    "*": { runBy: ["test/recipients/partner-journey.test.ts"] },
  },
  "docs/recipients/README.md": { "make kit": { runBy: ["test/release/recipient-kit.test.ts"] } },
  "docs/how-to/releases.md": {
    "helm install heliograph oci://ghcr.io/heliograph-dev/charts/heliograph --namespace heliograph --create-namespace":
      {
        checkedBy: [publish],
      },
    "cosign verify ghcr.io/heliograph-dev/heliograph:0.1.0": { neverRun: true },
    "make manifests": { runBy: ["test/release/manifests.kube.test.ts"] },
    "make release": { runBy: [publish] },
  },
  "docs/how-to/several-programs.md": { "*": { runBy: ["test/cli/two-programs.nats.test.ts"] } },
  "docs/how-to/openslo.md": { "*": { runBy: ["test/cli/configuration/openslo.test.ts"] } },
  "docs/how-to/slo-rules.md": {
    "npx heliograph validate docs/examples": { runBy: ["test/cli/configuration/rules.test.ts"] },
    "kubectl get metriccatalogs,queryclassquotas --namespace team-metrics --output=yaml > resources.yaml": {
      runBy: ["test/chart/slo-rules.kube.test.ts"],
    },
    "promtool check rules slo-rules.yaml": { runBy: ["test/chart/slo-rules.kube.test.ts"] },
    "kubectl annotate prometheusrule operations-slos --namespace team-metrics heliograph.dev/adopt=true": {
      runBy: ["test/operator/rules/rule-controller.kube.test.ts"],
    },
    "*": { checkedBy: ["test/chart/slo-rules.kube.test.ts"] },
  },
  "docs/how-to/tokens.md": { "*": { runBy: ["test/pages/typed-pages.store.test.ts"] } },
  "docs/reference/versions.md": {
    "kubectl get webhookpartners,metriccatalogs,queryclassquotas,eventcatalogs --all-namespaces --output=json | kubectl replace --filename=-":
      { runBy: [versions] },
    "kubectl get webhookpartners,metriccatalogs,queryclassquotas,eventcatalogs --all-namespaces --output=yaml > resources.yaml":
      {
        neverRun: true,
      },
  },
  "docs/runbooks/": { "*": { runBy: ["test/chart/dashboards/monitoring.kube.test.ts", e2e] } },
};

/** The proof of a block; undefined without one. */
export function proofOf(page: string, first: string): Proof | undefined {
  const place = Object.keys(commandProofs).find(
    (name) => page === name || (name.endsWith("/") && page.startsWith(name)),
  );
  const proofs = commandProofs[place ?? ""];
  return proofs?.[first] ?? proofs?.["*"];
}
