const nameCharsMax = 253;
const namesMax = 10_000;
const grantsMax = 1_000;

const names = (description: string) => ({
  type: "array",
  description,
  maxItems: namesMax,
  items: { type: "string", minLength: 1, maxLength: nameCharsMax },
});

/**
 * JSON Schema of the file that holds the installation's policy. A list that is absent grants nothing.
 */
export const policySchema = {
  type: "object",
  additionalProperties: false,
  required: ["grants"],
  properties: {
    grants: {
      type: "array",
      description: "What namespaces may name. A namespace has what all grants that name it give together.",
      maxItems: grantsMax,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["namespaces"],
        properties: {
          namespaces: { ...names("Namespaces that the grant is for; * is every one."), minItems: 1 },
          tenants: names("Tenants that subscriptions may name; * is every one, - the events without a tenant."),
          producers: names("Producers that subscriptions may name; * is every one and a subscription that names none."),
          storeHosts: names("Hosts of store URLs, without the port; *.example.com is every name below example.com."),
          metrics: names(
            "Metric ids of catalogs; shop_* is every id that begins with shop_. Without the list, every one.",
          ),
          clients: names("Client ids and scopes that quotas may name; * is every one and a quota that names none."),
          cidrs: names("Blocks that networks.allowCidrs may lie in."),
          plaintext: { type: "boolean", description: "Whether networks.allowPlaintext may be true." },
        },
      },
    },
  },
} as const;
