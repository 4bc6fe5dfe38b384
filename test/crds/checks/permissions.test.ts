import { describe, expect, test } from "vitest";
import { permissionProblems } from "../../../crds/checks/permissions.ts";
import { allowAll, type InstallationPolicy, type NamespaceGrant } from "../../../crds/policy.ts";
import type { FieldProblem } from "../../../crds/problem.ts";
import type { Kind } from "../../../crds/resource.ts";
import { validateResource } from "../../../crds/validate.ts";
import { compiled, first, partnerSecrets, resourceOf } from "../compile/resources.ts";
import { plainObject, type Changes } from "../valid-objects.ts";

const granted: NamespaceGrant = {
  namespaces: ["default"],
  tenants: ["lumen", "-"],
  producers: ["payments"],
  storeHosts: ["eu.example", "*.stores.example"],
  awsRoles: ["arn:aws:iam::123456789012:role/reader"],
  metrics: ["*"],
  eventTypes: ["payout.*", "refund.created"],
  clients: ["dashboards", "metrics:read"],
  cidrs: ["10.20.0.0/16"],
  plaintext: false,
};

function problemsOf(
  kind: Kind,
  changes: Changes,
  policy: InstallationPolicy = { grants: [granted] },
): readonly FieldProblem[] {
  const { resource, problems } = validateResource(plainObject(kind, changes));
  if (resource === undefined) throw new Error(JSON.stringify(problems));
  return permissionProblems(resource, policy);
}

const permittedPartner: Changes = { "subscriptions[0].producers": ["payments"] };
const permittedCatalog: Changes = { "stores[1].prometheus.url": "https://latam.stores.example" };

const tokenAt = (tokenUrl: string) => ({ tokenUrl, clientId: "eu", secretRef: { name: "peer" } });

/** A catalog whose second store is a peer. */
function peerAt(url: string, tokenUrl: string): Changes {
  const auth = { oauth2: tokenAt(tokenUrl) };
  return {
    "stores[1]": { name: "latam", region: "latam", peer: { url, auth, tls: { clientSecretRef: { name: "client" } } } },
  };
}

describe("a policy that grants the store host", () => {
  const problems = (storeHost: string, url: string) =>
    problemsOf(
      "MetricCatalog",
      { "stores[1].prometheus.url": url },
      {
        grants: [{ ...granted, storeHosts: ["eu.example", storeHost] }],
      },
    ).map(({ field }) => field);

  test.each([
    ["fd00::6", "http://[fd00::6]:9090"],
    ["[fd00::6]", "https://[fd00::6]"],
    ["FD00:0::0006", "http://[fd00::6]:9090/prometheus"],
    ["fd00::6", "http://[fd00:0:0::0006]:9090"],
  ])("%s permits %s", (storeHost, url) => {
    expect(problems(storeHost, url)).toEqual([]);
  });

  test.each([
    ["fd00::6", "http://[fd00::7]:9090"],
    ["fd00::", "http://[fd00::6]:9090"],
    ["fd00::6:9090", "http://[fd00::6]:9090"],
    ["*.fd00::6", "http://[fd00::6]:9090"],
  ])("%s does not permit %s", (storeHost, url) => {
    expect(problems(storeHost, url)).toEqual(["spec.stores[1].prometheus.url"]);
  });
});

describe("a policy that grants the AWS role arn:aws:iam::123456789012:role/reader", () => {
  const problems = (roleArn: string, awsRoles: readonly string[] = granted.awsRoles) =>
    problemsOf(
      "MetricCatalog",
      {
        ...permittedCatalog,
        "stores[1].prometheus.auth": { sigv4: { region: "eu-west-1", webIdentity: { roleArn } } },
      },
      { grants: [{ ...granted, awsRoles }] },
    );

  test("permits that role, and with * every one", () => {
    expect(problems("arn:aws:iam::123456789012:role/reader")).toEqual([]);
    expect(problems("arn:aws:iam::123456789012:role/admin", ["*"])).toEqual([]);
  });

  test.each([
    ["arn:aws:iam::123456789012:role/admin"],
    ["arn:aws:iam::123456789012:role/reader2"],
    ["arn:aws:iam::210987654321:role/reader"],
  ])("does not permit %s", (roleArn) => {
    const message = `the policy does not grant the namespace the AWS role ${roleArn}`;
    const field = "spec.stores[1].prometheus.auth.sigv4.webIdentity.roleArn";
    expect(problems(roleArn)).toEqual([{ field, reason: "NotPermitted", message }]);
    expect(problems("arn:aws:iam::123456789012:role/reader", [])).toHaveLength(1);
  });
});

describe("a policy that grants metrics", () => {
  const granting = (...metrics: readonly string[]): InstallationPolicy => ({ grants: [{ ...granted, metrics }] });
  const problems = (id: string, policy: InstallationPolicy) =>
    problemsOf("MetricCatalog", { ...permittedCatalog, "metrics[0].id": id }, policy);

  test.each([["shop_orders"], ["shop_*"], ["*"], ["pay_*", "shop_orders"]])(
    "of %s permits shop_orders",
    (...metrics) => {
      expect(problems("shop_orders", granting(...metrics))).toEqual([]);
    },
  );

  test.each([[], ["shop"], ["shop_"], ["shop_orders_*"], ["pay_*"]])("of %s does not", (...metrics) => {
    const message = "the policy does not grant the namespace the metric shop_orders";
    expect(problems("shop_orders", granting(...metrics))).toEqual([
      { field: "spec.metrics[0].id", reason: "NotPermitted", message },
    ]);
  });

  test("lets no namespace have another's id, however old its catalog is", () => {
    const catalog = (namespace: string, year: number) =>
      resourceOf(
        "MetricCatalog",
        { "metrics[0].id": "shop_orders" },
        { namespace, name: "orders", creationTimestamp: `${year}-01-01T00:00:00Z` },
      );
    const grant = (namespace: string, metric: string) => ({
      ...allowAll.grants[0],
      ...granted,
      storeHosts: ["*"],
      awsRoles: ["*"],
      namespaces: [namespace],
      metrics: [metric],
    });
    const policy = { grants: [grant("shop", "shop_*"), grant("squatter", "squat_*")] };
    const { results } = compiled([catalog("squatter", 2024), catalog("shop", 2025)], partnerSecrets, policy);
    expect(results.map(({ namespace, accepted }) => [namespace, accepted.reason])).toEqual([
      ["shop", "Accepted"],
      ["squatter", "NotPermitted"],
    ]);
  });
});

describe("a policy", () => {
  test.each<[string, Kind, Changes]>([
    ["a partner within the grant", "WebhookPartner", permittedPartner],
    ["events without a tenant", "WebhookPartner", { ...permittedPartner, "subscriptions[0].tenants": ["-"] }],
    [
      "a block inside a granted one",
      "WebhookPartner",
      { ...permittedPartner, "networks.allowCidrs": ["10.20.30.0/24"] },
    ],
    ["stores by name and below a name", "MetricCatalog", permittedCatalog],
    [
      "a store's host in capitals",
      "MetricCatalog",
      { ...permittedCatalog, "stores[0].prometheus.url": "http://EU.example:1" },
    ],
    ["granted clients and scopes", "QueryClassQuota", { "clients[1]": { scope: "metrics:read" } }],
  ])("permits %s", (_what, kind, changes) => {
    expect(problemsOf(kind, changes)).toEqual([]);
  });

  test.each<[string, Kind, Changes, string, string]>([
    [
      "another tenant",
      "WebhookPartner",
      { ...permittedPartner, "subscriptions[0].tenants": ["vega"] },
      "spec.subscriptions[0].tenants",
      "the policy does not grant the namespace the tenant vega",
    ],
    [
      "every tenant",
      "WebhookPartner",
      { ...permittedPartner, "subscriptions[0].tenants": ["*"] },
      "spec.subscriptions[0].tenants",
      "the policy does not grant the namespace every tenant",
    ],
    [
      "every producer by naming none",
      "WebhookPartner",
      {},
      "spec.subscriptions[0].producers",
      "the policy does not grant the namespace every producer",
    ],
    [
      "a block larger than the granted one",
      "WebhookPartner",
      { ...permittedPartner, "networks.allowCidrs": ["10.0.0.0/8"] },
      "spec.networks.allowCidrs[0]",
      "the policy does not grant the namespace 10.0.0.0/8",
    ],
    [
      "plain http",
      "WebhookPartner",
      { ...permittedPartner, "networks.allowPlaintext": true },
      "spec.networks.allowPlaintext",
      "the policy does not grant the namespace plain http",
    ],
    [
      "another store",
      "MetricCatalog",
      { "stores[1].prometheus.url": "http://stores.example" },
      "spec.stores[1].prometheus.url",
      "the policy does not grant the namespace the store host stores.example",
    ],
    [
      "another peer",
      "MetricCatalog",
      peerAt("https://other.example", "https://id.stores.example/token"),
      "spec.stores[1].peer.url",
      "the policy does not grant the namespace the store host other.example",
    ],
    [
      "another token endpoint of a peer",
      "MetricCatalog",
      peerAt("https://latam.stores.example", "https://id.example/token"),
      "spec.stores[1].peer.auth.oauth2.tokenUrl",
      "the policy does not grant the namespace the store host id.example",
    ],
    [
      "another token endpoint of a store",
      "MetricCatalog",
      {
        "stores[0].prometheus.auth": { oauth2: tokenAt("https://id.example/token") },
        "stores[1].prometheus.url": "https://latam.stores.example",
      },
      "spec.stores[0].prometheus.auth.oauth2.tokenUrl",
      "the policy does not grant the namespace the store host id.example",
    ],
    [
      "another client",
      "QueryClassQuota",
      { "clients[1]": { clientId: "reports" } },
      "spec.clients[1].clientId",
      "the policy does not grant the namespace the client reports",
    ],
    [
      "a whole class",
      "QueryClassQuota",
      { clients: [] },
      "spec.clients",
      "the policy does not grant the namespace every client",
    ],
  ])("does not permit %s", (_what, kind, changes, field, message) => {
    expect(problemsOf(kind, changes)).toEqual([{ field, reason: "NotPermitted", message }]);
  });

  test.each<[string, Kind, Changes, string]>([
    ["an endpoint", "WebhookPartner", { "endpoint.url": "https://169.254.169.254/v1" }, "spec.endpoint.url"],
    ["an IPv6 endpoint", "WebhookPartner", { "endpoint.url": "https://[FD00:EC2::254]/v1" }, "spec.endpoint.url"],
    ["a block", "WebhookPartner", { "networks.allowCidrs": ["169.254.169.0/24"] }, "spec.networks.allowCidrs[0]"],
    [
      "a store",
      "MetricCatalog",
      { "stores[0].prometheus.url": "http://169.254.169.254" },
      "spec.stores[0].prometheus.url",
    ],
    [
      "a token endpoint",
      "MetricCatalog",
      peerAt("https://a.example", "https://169.254.169.254/token"),
      "spec.stores[1].peer.auth.oauth2.tokenUrl",
    ],
  ])("never permits %s at an address of instance metadata, though it allows all", (_what, kind, changes, field) => {
    expect(problemsOf(kind, changes, allowAll)).toEqual([
      { field, reason: "NotPermitted", message: "addresses of instance metadata are never allowed" },
    ]);
  });

  test("that allows all permits everything else", () => {
    const changes = {
      "subscriptions[0].tenants": ["*"],
      "networks.allowCidrs": ["10.0.0.0/8", "::/0"],
      "networks.allowPlaintext": true,
    };
    expect(problemsOf("WebhookPartner", changes, allowAll)).toEqual([]);
    expect(problemsOf("MetricCatalog", {}, allowAll)).toEqual([]);
    expect(problemsOf("QueryClassQuota", { clients: [] }, allowAll)).toEqual([]);
  });

  test("with several grants for a namespace gives what they give together", () => {
    const more = { ...granted, tenants: ["vega"], producers: [] };
    const changes = { ...permittedPartner, "subscriptions[0].tenants": ["lumen", "vega"] };
    expect(problemsOf("WebhookPartner", changes, { grants: [granted, more] })).toEqual([]);
  });

  test("without a grant for the namespace permits nothing", () => {
    const policy = { grants: [{ ...granted, namespaces: ["other"] }] };
    expect(problemsOf("QueryClassQuota", {}, policy)).toHaveLength(1);
  });

  test("keeps forbidden objects out of the configuration and resolves nothing for them", () => {
    const { config, results } = compiled([resourceOf("WebhookPartner")], new Map(), { grants: [granted] });
    expect(config.partners).toEqual([]);
    expect(first(results)).toMatchObject({
      accepted: { status: false, reason: "NotPermitted" },
      resolvedRefs: { status: false, reason: "NotChecked" },
    });
  });
});
