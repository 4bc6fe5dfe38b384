// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

/** Kinds of resources. */
export const kinds = ["MetricCatalog", "QueryClassQuota", "WebhookPartner"] as const;

const metricCatalogStoresItemPrometheusTlsServerName = {
  type: "string",
  minLength: 1,
  maxLength: 253,
  pattern: "^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$",
};

const webhookPartnerEndpointOauth2TokenUrl = {
  type: "string",
  minLength: 1,
  maxLength: 2048,
  pattern: "^https?://[^/?#@{}]+([/?][A-Za-z0-9\\-._~:/?\\[\\]@!$&'()*+,;=%]*)?$",
};

const metricCatalogMetricsItemDeprecatedAt = {
  type: "string",
  format: "date-time",
  maxLength: 24,
  pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,3})?Z$",
};

const queryClassQuotaClientsItemRegions = {
  type: "array",
  maxItems: 32,
  default: [],
  "x-kubernetes-list-type": "set",
  items: { type: "string", minLength: 1, maxLength: 63, pattern: "^[A-Za-z0-9_-]+$" },
};

const metricCatalogStoresItemPrometheusTlsClientSecretRef = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string", minLength: 1, maxLength: 253, pattern: "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$" } },
  additionalProperties: false,
};

const webhookPartnerEndpointOauth2ClientSecretRef = {
  type: "object",
  required: ["name", "key"],
  properties: {
    name: { type: "string", minLength: 1, maxLength: 253, pattern: "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$" },
    key: { type: "string", minLength: 1, maxLength: 253, pattern: "^[A-Za-z0-9._-]+$" },
  },
  additionalProperties: false,
};

const metricCatalogStoresItemPrometheusTlsCaSecretRef = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", minLength: 1, maxLength: 253, pattern: "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$" },
    key: { type: "string", minLength: 1, maxLength: 253, pattern: "^[A-Za-z0-9._-]+$", default: "ca.crt" },
  },
  additionalProperties: false,
};

const metricCatalogStoresItemPrometheusAuthBearer = {
  type: "object",
  required: ["secretRef"],
  properties: {
    secretRef: {
      type: "object",
      required: ["name"],
      properties: {
        name: { type: "string", minLength: 1, maxLength: 253, pattern: "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$" },
        key: { type: "string", minLength: 1, maxLength: 253, pattern: "^[A-Za-z0-9._-]+$", default: "token" },
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
};

const metricCatalogStoresItemPrometheusHeaders = {
  type: "array",
  maxItems: 16,
  default: [],
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
  items: {
    type: "object",
    required: ["name", "value"],
    properties: {
      name: { type: "string", minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" },
      value: { type: "string", minLength: 1, maxLength: 1024, pattern: "^[!-~]([ -~]*[!-~])?$" },
    },
    additionalProperties: false,
  },
};

const metricCatalogMetricsItemSourceGaugeMatchers = {
  type: "array",
  maxItems: 8,
  default: [],
  "x-kubernetes-list-type": "atomic",
  items: {
    type: "object",
    required: ["label", "value"],
    properties: {
      label: { type: "string", minLength: 1, maxLength: 63, pattern: "^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$" },
      op: { type: "string", enum: ["Equal", "NotEqual", "Matches", "NotMatches"], default: "Equal" },
      value: { type: "string", maxLength: 256 },
    },
    additionalProperties: false,
  },
};

const metricCatalogMetricsItemSourceGauge = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", minLength: 1, maxLength: 128, pattern: "^[a-zA-Z_:][a-zA-Z0-9_:]*$" },
    matchers: metricCatalogMetricsItemSourceGaugeMatchers,
  },
  additionalProperties: false,
};

/** What Ajv reads of the schema of each kind's `spec`. An object has only the properties that are listed. */
export const specSchemas: Readonly<Record<(typeof kinds)[number], object>> = {
  MetricCatalog: {
    type: "object",
    required: ["schemaVersion", "stores", "metrics"],
    properties: {
      schemaVersion: { type: "string", minLength: 1, maxLength: 32, pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$" },
      stores: {
        type: "array",
        minItems: 1,
        maxItems: 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: {
          type: "object",
          required: ["name", "region"],
          properties: {
            name: { type: "string", minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" },
            region: { type: "string", minLength: 1, maxLength: 63, pattern: "^[A-Za-z0-9_-]+$" },
            residency: { type: "string", minLength: 1, maxLength: 63, pattern: "^[A-Za-z0-9_-]+$" },
            environment: { type: "string", minLength: 1, maxLength: 63, pattern: "^[A-Za-z0-9_-]+$" },
            tenancy: { type: "string", enum: ["Labelled", "Platform", "StoreHeader"], default: "Labelled" },
            labelMap: {
              type: "object",
              maxProperties: 10,
              default: {  },
              additionalProperties: {
                type: "string",
                minLength: 1,
                maxLength: 63,
                pattern: "^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$",
              },
            },
            settleSeconds: { type: "integer", minimum: 0, maximum: 86400, default: 300 },
            prometheus: {
              type: "object",
              required: ["url"],
              properties: {
                url: { type: "string", minLength: 1, maxLength: 2048 },
                timeoutSeconds: { type: "integer", minimum: 1, maximum: 60, default: 1 },
                flavour: {
                  type: "string",
                  enum: ["Prometheus", "Thanos", "Mimir", "VictoriaMetrics"],
                  default: "Prometheus",
                },
                tenantHeader: { type: "string", minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" },
                headers: metricCatalogStoresItemPrometheusHeaders,
                auth: {
                  type: "object",
                  properties: {
                    basic: {
                      type: "object",
                      required: ["secretRef"],
                      properties: {
                        secretRef: {
                          type: "object",
                          required: ["name"],
                          properties: {
                            name: {
                              type: "string",
                              minLength: 1,
                              maxLength: 253,
                              pattern: "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
                            },
                            usernameKey: {
                              type: "string",
                              minLength: 1,
                              maxLength: 253,
                              pattern: "^[A-Za-z0-9._-]+$",
                              default: "username",
                            },
                            passwordKey: {
                              type: "string",
                              minLength: 1,
                              maxLength: 253,
                              pattern: "^[A-Za-z0-9._-]+$",
                              default: "password",
                            },
                          },
                          additionalProperties: false,
                        },
                      },
                      additionalProperties: false,
                    },
                    bearer: metricCatalogStoresItemPrometheusAuthBearer,
                  },
                  additionalProperties: false,
                },
                tls: {
                  type: "object",
                  properties: {
                    caSecretRef: metricCatalogStoresItemPrometheusTlsCaSecretRef,
                    clientSecretRef: metricCatalogStoresItemPrometheusTlsClientSecretRef,
                    serverName: metricCatalogStoresItemPrometheusTlsServerName,
                  },
                  additionalProperties: false,
                },
                maxSourceResolution: { type: "string", enum: ["5m", "1h"] },
              },
              additionalProperties: false,
            },
            peer: {
              type: "object",
              required: ["url", "auth", "tls"],
              properties: {
                url: { type: "string", minLength: 1, maxLength: 2048 },
                timeoutSeconds: { type: "integer", minimum: 1, maximum: 60, default: 1 },
                increases: { type: "string", enum: ["Extrapolated", "Plain"], default: "Extrapolated" },
                auth: {
                  type: "object",
                  properties: {
                    oauth2: {
                      type: "object",
                      required: ["tokenUrl", "clientId", "secretRef"],
                      properties: {
                        tokenUrl: {
                          type: "string",
                          minLength: 1,
                          maxLength: 2048,
                          pattern: "^https://[^/?#@{}]+([/?][A-Za-z0-9\\-._~:/?\\[\\]@!$&'()*+,;=%]*)?$",
                        },
                        clientId: { type: "string", minLength: 1, maxLength: 256, pattern: "^[!-~]+$" },
                        secretRef: {
                          type: "object",
                          required: ["name"],
                          properties: {
                            name: {
                              type: "string",
                              minLength: 1,
                              maxLength: 253,
                              pattern: "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
                            },
                            key: {
                              type: "string",
                              minLength: 1,
                              maxLength: 253,
                              pattern: "^[A-Za-z0-9._-]+$",
                              default: "client-secret",
                            },
                          },
                          additionalProperties: false,
                        },
                        resource: { type: "string", minLength: 1, maxLength: 2048, pattern: "^[!-~]+$" },
                      },
                      additionalProperties: false,
                    },
                    bearer: metricCatalogStoresItemPrometheusAuthBearer,
                  },
                  additionalProperties: false,
                },
                tls: {
                  type: "object",
                  required: ["clientSecretRef"],
                  properties: {
                    caSecretRef: metricCatalogStoresItemPrometheusTlsCaSecretRef,
                    clientSecretRef: metricCatalogStoresItemPrometheusTlsClientSecretRef,
                    serverName: metricCatalogStoresItemPrometheusTlsServerName,
                  },
                  additionalProperties: false,
                },
              },
              additionalProperties: false,
            },
          },
          additionalProperties: false,
        },
      },
      metrics: {
        type: "array",
        minItems: 1,
        maxItems: 256,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        items: {
          type: "object",
          required: ["id", "category", "unit", "description", "source", "aggregations", "defaultAggregation"],
          properties: {
            id: { type: "string", minLength: 1, maxLength: 64, pattern: "^[a-z][a-z0-9_]*$" },
            category: { type: "string", enum: ["slo", "kri", "business", "infrastructure", "api"] },
            unit: { type: "string", minLength: 1, maxLength: 32 },
            description: { type: "string", minLength: 1, maxLength: 1024 },
            source: {
              type: "object",
              required: ["intervalSeconds"],
              properties: {
                gauge: metricCatalogMetricsItemSourceGauge,
                counter: {
                  type: "object",
                  required: ["name"],
                  properties: {
                    name: { type: "string", minLength: 1, maxLength: 128, pattern: "^[a-zA-Z_:][a-zA-Z0-9_:]*$" },
                    matchers: metricCatalogMetricsItemSourceGaugeMatchers,
                    increase: { type: "string", enum: ["Extrapolated", "Anchored"], default: "Extrapolated" },
                  },
                  additionalProperties: false,
                },
                ratio: {
                  type: "object",
                  required: ["numerator", "denominator"],
                  properties: {
                    numerator: metricCatalogMetricsItemSourceGauge,
                    denominator: metricCatalogMetricsItemSourceGauge,
                    increase: { type: "string", enum: ["Extrapolated", "Anchored"], default: "Extrapolated" },
                  },
                  additionalProperties: false,
                },
                histogram: {
                  type: "object",
                  required: ["name"],
                  properties: {
                    type: { type: "string", enum: ["Classic", "Native"], default: "Classic" },
                    name: { type: "string", minLength: 1, maxLength: 128, pattern: "^[a-zA-Z_:][a-zA-Z0-9_:]*$" },
                    matchers: metricCatalogMetricsItemSourceGaugeMatchers,
                    increase: { type: "string", enum: ["Extrapolated", "Anchored"], default: "Extrapolated" },
                  },
                  additionalProperties: false,
                },
                intervalSeconds: { type: "integer", minimum: 1, maximum: 3600 },
                storeIntervals: {
                  type: "array",
                  maxItems: 32,
                  default: [],
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": ["store"],
                  items: {
                    type: "object",
                    required: ["store", "intervalSeconds"],
                    properties: {
                      store: {
                        type: "string",
                        minLength: 1,
                        maxLength: 63,
                        pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
                      },
                      intervalSeconds: { type: "integer", minimum: 1, maximum: 3600 },
                    },
                    additionalProperties: false,
                  },
                },
              },
              additionalProperties: false,
            },
            stores: {
              type: "array",
              minItems: 1,
              maxItems: 32,
              "x-kubernetes-list-type": "set",
              items: { type: "string", minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" },
            },
            minStepSeconds: { type: "integer", minimum: 10, maximum: 86400 },
            labels: {
              type: "array",
              maxItems: 10,
              default: [],
              "x-kubernetes-list-type": "set",
              items: {
                type: "string",
                enum: [
                  "region",
                  "tenant",
                  "environment",
                  "service",
                  "psp",
                  "bank_group",
                  "geo",
                  "device",
                  "version",
                  "component",
                ],
              },
            },
            aggregations: {
              type: "array",
              minItems: 1,
              maxItems: 7,
              "x-kubernetes-list-type": "set",
              items: { type: "string", enum: ["avg", "sum", "min", "max", "p50", "p95", "p99"] },
            },
            defaultAggregation: { type: "string", enum: ["avg", "sum", "min", "max", "p50", "p95", "p99"] },
            maxGroupBy: { type: "integer", minimum: 0, maximum: 10, default: 4 },
            sensitivity: { type: "string", enum: ["none", "finance", "responsible-gaming"], default: "none" },
            requiredRole: { type: "string", minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9._:/-]+$" },
            complianceScope: {
              type: "object",
              required: ["regions"],
              properties: {
                regions: {
                  type: "array",
                  minItems: 2,
                  maxItems: 32,
                  "x-kubernetes-list-type": "set",
                  items: { type: "string", minLength: 1, maxLength: 63, pattern: "^[A-Za-z0-9_-]+$" },
                },
              },
              additionalProperties: false,
            },
            queryClass: { type: "string", enum: ["A", "B", "C"], default: "B" },
            state: { type: "string", enum: ["Active", "Deprecated"], default: "Active" },
            replacedBy: { type: "string", minLength: 1, maxLength: 64, pattern: "^[a-z][a-z0-9_]*$" },
            deprecatedAt: metricCatalogMetricsItemDeprecatedAt,
            sunsetAt: metricCatalogMetricsItemDeprecatedAt,
          },
          additionalProperties: false,
        },
      },
      slos: {
        type: "array",
        maxItems: 128,
        default: [],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: {
          type: "object",
          required: ["name", "domain", "metric", "objective"],
          properties: {
            name: { type: "string", minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" },
            title: { type: "string", minLength: 1, maxLength: 80, pattern: "^[^\\x00-\\x1F\\x7F]+$" },
            domain: { type: "string", minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" },
            metric: { type: "string", minLength: 1, maxLength: 64, pattern: "^[a-z][a-z0-9_]*$" },
            objective: { type: "number", minimum: 0, maximum: 1 },
            counts: { type: "string", enum: ["Good", "Bad"], default: "Good" },
            threshold: { type: "number", minimum: -1000000000000, maximum: 1000000000000 },
            windowDays: { type: "integer", minimum: 1, maximum: 90, default: 30 },
            minimumEvents: { type: "integer", minimum: 1, maximum: 1000000000, default: 100 },
            burnRates: {
              type: "array",
              minItems: 4,
              maxItems: 4,
              default: [14.4, 6, 3, 1],
              "x-kubernetes-list-type": "atomic",
              items: { type: "number", minimum: 0.1, maximum: 1000 },
            },
            public: { type: "boolean", default: false },
            publicTenants: {
              type: "array",
              minItems: 1,
              maxItems: 64,
              "x-kubernetes-list-type": "set",
              items: { type: "string", minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9_][A-Za-z0-9_-]*$" },
            },
          },
          additionalProperties: false,
        },
      },
    },
    additionalProperties: false,
  },
  QueryClassQuota: {
    type: "object",
    required: ["class"],
    properties: {
      class: { type: "string", enum: ["A", "B", "C"] },
      limits: {
        type: "object",
        default: {  },
        properties: {
          maxSeries: { type: "integer", minimum: 1, maximum: 50 },
          maxWindowSeconds: { type: "integer", minimum: 60, maximum: 94608000 },
          minStepSeconds: { type: "integer", minimum: 10, maximum: 86400 },
          maxGroupBy: { type: "integer", minimum: 0, maximum: 10 },
          requestsPerSecond: { type: "integer", minimum: 1, maximum: 10000 },
          burst: { type: "integer", minimum: 1, maximum: 100000 },
          costUnitsPerMinute: { type: "integer", minimum: 1, maximum: 10000000000 },
          burstCostUnits: { type: "integer", minimum: 1, maximum: 10000000000 },
          maxConcurrent: { type: "integer", minimum: 1, maximum: 1000 },
        },
        additionalProperties: false,
      },
      cache: {
        type: "object",
        default: {  },
        properties: {
          memorySeconds: { type: "integer", minimum: 0, maximum: 60 },
          distributedSeconds: { type: "integer", minimum: 0, maximum: 300 },
          hotTailSeconds: { type: "integer", minimum: 0, maximum: 60 },
          staleWhileRevalidateSeconds: { type: "integer", minimum: 0, maximum: 60 },
        },
        additionalProperties: false,
      },
      perMetric: {
        type: "array",
        maxItems: 256,
        default: [],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["metric"],
        items: {
          type: "object",
          required: ["metric"],
          properties: {
            metric: { type: "string", minLength: 1, maxLength: 64, pattern: "^[a-z][a-z0-9_]*$" },
            requestsPerSecond: { type: "integer", minimum: 1, maximum: 10000 },
            costUnitsPerMinute: { type: "integer", minimum: 1, maximum: 10000000000 },
          },
          additionalProperties: false,
        },
      },
      clients: {
        type: "array",
        maxItems: 256,
        default: [],
        "x-kubernetes-list-type": "atomic",
        items: {
          type: "object",
          properties: {
            clientId: { type: "string", minLength: 1, maxLength: 128, pattern: "^[!-~]+$" },
            scope: { type: "string", minLength: 1, maxLength: 128, pattern: "^[A-Za-z0-9._:/-]+$" },
            tenants: {
              type: "array",
              maxItems: 256,
              default: [],
              "x-kubernetes-list-type": "set",
              items: { type: "string", minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9_][A-Za-z0-9_-]*$" },
            },
            regions: queryClassQuotaClientsItemRegions,
            environments: queryClassQuotaClientsItemRegions,
            metrics: {
              type: "array",
              maxItems: 256,
              default: [],
              "x-kubernetes-list-type": "set",
              items: { type: "string", minLength: 1, maxLength: 64, pattern: "^[a-z][a-z0-9_]*$" },
            },
          },
          additionalProperties: false,
        },
      },
    },
    additionalProperties: false,
  },
  WebhookPartner: {
    type: "object",
    required: ["endpoint", "signing", "subscriptions"],
    properties: {
      endpoint: {
        type: "object",
        required: ["url"],
        properties: {
          url: { type: "string", minLength: 1, maxLength: 2048 },
          timeoutSeconds: { type: "integer", minimum: 1, maximum: 60, default: 10 },
          headers: metricCatalogStoresItemPrometheusHeaders,
          caBundleRef: metricCatalogStoresItemPrometheusTlsCaSecretRef,
          clientCertificateRef: metricCatalogStoresItemPrometheusTlsClientSecretRef,
          oauth2: {
            type: "object",
            required: ["tokenUrl", "clientId", "clientSecretRef"],
            properties: {
              tokenUrl: webhookPartnerEndpointOauth2TokenUrl,
              clientId: { type: "string", minLength: 1, maxLength: 256, pattern: "^[!-~]+$" },
              clientSecretRef: webhookPartnerEndpointOauth2ClientSecretRef,
              scopes: {
                type: "array",
                maxItems: 16,
                default: [],
                "x-kubernetes-list-type": "set",
                items: { type: "string", minLength: 1, maxLength: 128, pattern: "^[!#-\\[\\]-~]+$" },
              },
              dpop: { type: "boolean", default: false },
            },
            additionalProperties: false,
          },
          verification: { type: "string", enum: ["None", "Handshake"], default: "None" },
          idempotencySeconds: { type: "integer", minimum: 86400, maximum: 31536000, default: 259200 },
          ackUrl: webhookPartnerEndpointOauth2TokenUrl,
        },
        additionalProperties: false,
      },
      signing: {
        type: "object",
        required: ["keys"],
        properties: {
          scheme: { type: "string", enum: ["HmacV1", "StandardWebhooks", "HttpMessageSignatures"], default: "HmacV1" },
          sideBySide: { type: "boolean", default: false },
          keys: {
            type: "array",
            minItems: 1,
            maxItems: 8,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            items: {
              type: "object",
              required: ["id", "secretRef"],
              properties: {
                id: {
                  type: "string",
                  minLength: 1,
                  maxLength: 63,
                  pattern: "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
                },
                secretRef: webhookPartnerEndpointOauth2ClientSecretRef,
                notAfter: metricCatalogMetricsItemDeprecatedAt,
              },
              additionalProperties: false,
            },
          },
        },
        additionalProperties: false,
      },
      subscriptions: {
        type: "array",
        minItems: 1,
        maxItems: 64,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: {
          type: "object",
          required: ["name", "types", "tenants"],
          properties: {
            name: { type: "string", minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$" },
            types: {
              type: "array",
              minItems: 1,
              maxItems: 64,
              "x-kubernetes-list-type": "set",
              items: {
                type: "string",
                minLength: 1,
                maxLength: 128,
                pattern: "^(([A-Za-z0-9_-]+|[*])[.])*([A-Za-z0-9_-]+|[*]|[*][*])$",
              },
            },
            tenants: {
              type: "array",
              minItems: 1,
              maxItems: 256,
              "x-kubernetes-list-type": "set",
              items: { type: "string", minLength: 1, maxLength: 64, pattern: "^([*-]|[A-Za-z0-9_][A-Za-z0-9_-]*)$" },
            },
            producers: {
              type: "array",
              maxItems: 64,
              default: [],
              "x-kubernetes-list-type": "set",
              items: { type: "string", minLength: 1, maxLength: 128, pattern: "^[!-~]([ -~]*[!-~])?$" },
            },
          },
          additionalProperties: false,
        },
      },
      delivery: {
        type: "object",
        default: {  },
        properties: {
          maxInFlight: { type: "integer", minimum: 1, maximum: 1024, default: 64 },
          ratePerSecond: { type: "integer", minimum: 1, maximum: 10000 },
          burst: { type: "integer", minimum: 1, maximum: 10000 },
          maxBacklog: {
            type: "object",
            default: {  },
            properties: {
              messages: { type: "integer", minimum: 1, maximum: 10000000, default: 200000 },
              bytes: { type: "integer", minimum: 1048576, maximum: 1099511627776, default: 268435456 },
            },
            additionalProperties: false,
          },
        },
        additionalProperties: false,
      },
      retry: {
        type: "object",
        default: {  },
        properties: {
          scheduleSeconds: {
            type: "array",
            minItems: 1,
            maxItems: 32,
            default: [5, 15, 30, 60, 120, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400],
            "x-kubernetes-list-type": "atomic",
            items: { type: "integer", minimum: 1, maximum: 604800 },
          },
          maxAgeSeconds: { type: "integer", minimum: 1, maximum: 2592000, default: 604800 },
          jitterPercent: { type: "integer", minimum: 0, maximum: 100, default: 10 },
        },
        additionalProperties: false,
      },
      circuitBreaker: {
        type: "object",
        default: {  },
        properties: {
          enabled: { type: "boolean", default: true },
          failures: { type: "integer", minimum: 1, maximum: 1000, default: 20 },
          openSeconds: { type: "integer", minimum: 1, maximum: 3600, default: 30 },
          maxOpenSeconds: { type: "integer", minimum: 1, maximum: 86400, default: 600 },
        },
        additionalProperties: false,
      },
      deadLetter: {
        type: "object",
        default: {  },
        properties: { retainSeconds: { type: "integer", minimum: 60, maximum: 31536000 } },
        additionalProperties: false,
      },
      networks: {
        type: "object",
        default: {  },
        properties: {
          allowCidrs: {
            type: "array",
            maxItems: 32,
            default: [],
            "x-kubernetes-list-type": "set",
            items: { type: "string", minLength: 1, maxLength: 43 },
          },
          allowPlaintext: { type: "boolean", default: false },
        },
        additionalProperties: false,
      },
      state: { type: "string", enum: ["Active", "Paused"], default: "Active" },
    },
    additionalProperties: false,
  },
};
