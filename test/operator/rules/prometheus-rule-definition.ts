const text = { type: "string" } as const;
const texts = { type: "object", additionalProperties: text } as const;

/** The definition of PrometheusRule, as far as tests need it: groups by name, and a status that is written apart. */
export const prometheusRuleDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "prometheusrules.monitoring.coreos.com" },
  spec: {
    group: "monitoring.coreos.com",
    names: { kind: "PrometheusRule", plural: "prometheusrules", singular: "prometheusrule" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            required: ["spec"],
            properties: {
              spec: {
                type: "object",
                properties: {
                  groups: {
                    type: "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    items: {
                      type: "object",
                      required: ["name"],
                      properties: {
                        name: { ...text, minLength: 1 },
                        rules: {
                          type: "array",
                          items: {
                            type: "object",
                            required: ["expr"],
                            properties: { alert: text, expr: text, labels: texts, annotations: texts },
                          },
                        },
                      },
                    },
                  },
                },
              },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
      },
    ],
  },
};
