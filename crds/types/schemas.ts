// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

import type { Schema } from "../schema.ts";

/** Kinds of resources. */
export const kinds = ["MetricCatalog","QueryClassQuota","WebhookPartner"] as const;

/** The schema of each kind's `spec`. */
export const specSchemas: Readonly<Record<(typeof kinds)[number], Schema>> = {
  "MetricCatalog": {
    "description": "Stores, metrics and SLOs.",
    "type": "object",
    "required": [
      "schemaVersion",
      "stores",
      "metrics"
    ],
    "x-kubernetes-validations": [
      {
        "rule": "[self.stores.map(t, t.name)].all(names, self.metrics.all(m, !has(m.stores) || sets.contains(names, m.stores)))",
        "fieldPath": ".metrics",
        "message": "a metric's stores are stores of this catalog"
      },
      {
        "rule": "[self.stores.map(t, t.name)].all(names, self.metrics.all(m, sets.contains(has(m.stores) ? m.stores : names, m.source.storeIntervals.map(i, i.store))))",
        "fieldPath": ".metrics",
        "message": "storeIntervals name stores that hold the metric"
      },
      {
        "rule": "[self.stores.map(t, t.region)].all(regions, self.metrics.all(m, !has(m.complianceScope) || sets.contains(regions, m.complianceScope.regions)))",
        "fieldPath": ".metrics",
        "message": "the regions of a complianceScope are regions of this catalog's stores"
      },
      {
        "rule": "[self.metrics.map(m, m.id)].all(ids, self.metrics.all(m, !has(m.replacedBy) || (m.replacedBy != m.id && m.replacedBy in ids)))",
        "fieldPath": ".metrics",
        "message": "replacedBy names another metric of this catalog"
      },
      {
        "rule": "[self.stores.filter(t, has(t.prometheus) && t.prometheus.flavour == 'VictoriaMetrics').map(t, t.name)].all(plain, plain.size() == 0 || self.metrics.all(m, !((has(m.source.counter) && m.source.counter.increase == 'Anchored') || (has(m.source.ratio) && m.source.ratio.increase == 'Anchored') || (has(m.source.histogram) && (m.source.histogram.increase == 'Anchored' || m.source.histogram.type == 'Native'))) || (has(m.stores) && !m.stores.exists(s, s in plain))))",
        "fieldPath": ".metrics",
        "message": "VictoriaMetrics has neither anchored increases nor native histograms"
      },
      {
        "rule": "[self.metrics.map(m, m.id)].all(ids, self.slos.all(s, s.metric in ids))",
        "fieldPath": ".slos",
        "message": "an SLO's metric is a metric of this catalog"
      },
      {
        "rule": "[self.metrics.filter(m, !has(m.source.ratio) && !(has(m.source.histogram) && m.source.histogram.type == 'Classic')).map(m, m.id)].all(others, self.slos.all(s, !(s.metric in others)))",
        "fieldPath": ".slos",
        "message": "an SLO's metric is a ratio or a classic histogram, since only those count events exactly"
      },
      {
        "rule": "[self.metrics.filter(m, has(m.source.histogram)).map(m, m.id)].all(histograms, self.slos.all(s, has(s.threshold) == (s.metric in histograms)))",
        "fieldPath": ".slos",
        "message": "an SLO has a threshold when, and only when, its metric is a histogram"
      },
      {
        "rule": "[self.metrics.filter(m, m.sensitivity != 'none').map(m, m.id)].all(sensitive, self.slos.all(s, !s.public || !(s.metric in sensitive)))",
        "fieldPath": ".slos",
        "message": "a public SLO's metric is not sensitive"
      },
      {
        "rule": "self.schemaVersion != oldSelf.schemaVersion || [oldSelf.metrics.map(o, o.id)].all(ids, [oldSelf.metrics.map(o, o.id + '/' + (has(o.source.gauge) ? 'gauge' : has(o.source.counter) ? 'counter' : has(o.source.ratio) ? 'ratio' : 'histogram') + '/' + o.unit)].all(meanings, self.metrics.all(m, !(m.id in ids) || m.id + '/' + (has(m.source.gauge) ? 'gauge' : has(m.source.counter) ? 'counter' : has(m.source.ratio) ? 'ratio' : 'histogram') + '/' + m.unit in meanings)))",
        "fieldPath": ".metrics",
        "message": "a metric keeps its unit and its kind of source while schemaVersion stays"
      }
    ],
    "properties": {
      "schemaVersion": {
        "description": "Version that answers carry as schema_version. It changes when the meaning of a metric does.",
        "type": "string",
        "minLength": 1,
        "maxLength": 32,
        "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$"
      },
      "stores": {
        "description": "The stores that the metrics are read from, each in one region.",
        "type": "array",
        "minItems": 1,
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [
          "name"
        ],
        "items": {
          "description": "One store, exactly one of prometheus, which speaks the HTTP API of Prometheus, and peer, which is the runtime of another region.",
          "type": "object",
          "required": [
            "name",
            "region"
          ],
          "x-kubernetes-validations": [
            {
              "rule": "has(self.prometheus) != has(self.peer)",
              "message": "a store is exactly one of prometheus and peer"
            },
            {
              "rule": "!has(self.peer) || (self.tenancy == 'Labelled' && self.labelMap.size() == 0)",
              "fieldPath": ".peer",
              "message": "a peer knows the labels and the tenancy of its own stores, so none are said here"
            },
            {
              "rule": "self.tenancy != 'StoreHeader' || !has(self.prometheus) || has(self.prometheus.tenantHeader) || self.prometheus.flavour in ['Thanos', 'Mimir']",
              "fieldPath": ".prometheus.tenantHeader",
              "message": "tenancy StoreHeader needs a tenantHeader, since the flavour has none of its own"
            },
            {
              "rule": "self.tenancy == 'StoreHeader' || !has(self.prometheus) || !has(self.prometheus.tenantHeader)",
              "fieldPath": ".prometheus.tenantHeader",
              "message": "tenantHeader is for tenancy StoreHeader"
            },
            {
              "rule": "self.tenancy != 'StoreHeader' || !has(self.prometheus) || self.prometheus.headers.all(h, h.name.lowerAscii() != (has(self.prometheus.tenantHeader) ? self.prometheus.tenantHeader.lowerAscii() : self.prometheus.flavour == 'Mimir' ? 'x-scope-orgid' : 'thanos-tenant'))",
              "fieldPath": ".prometheus.headers",
              "message": "the header of the tenant is not among the fixed headers"
            }
          ],
          "properties": {
            "name": {
              "description": "Name of the store among the catalog's stores.",
              "type": "string",
              "minLength": 1,
              "maxLength": 63,
              "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
            },
            "region": {
              "description": "Region of everything in the store; beats a region label of the series.",
              "type": "string",
              "minLength": 1,
              "maxLength": 63,
              "pattern": "^[A-Za-z0-9_-]+$"
            },
            "residency": {
              "description": "Where the store's data must stay. When absent, the region.",
              "type": "string",
              "minLength": 1,
              "maxLength": 63,
              "pattern": "^[A-Za-z0-9_-]+$"
            },
            "environment": {
              "description": "Environment of everything in the store; beats an environment label of the series.",
              "type": "string",
              "minLength": 1,
              "maxLength": 63,
              "pattern": "^[A-Za-z0-9_-]+$"
            },
            "tenancy": {
              "description": "With Labelled the series carry the tenant label. With Platform they belong to no tenant. With StoreHeader the store keeps tenants apart itself and is told the tenant in a header.",
              "type": "string",
              "enum": [
                "Labelled",
                "Platform",
                "StoreHeader"
              ],
              "default": "Labelled"
            },
            "labelMap": {
              "description": "From the governed label (region, tenant, environment, service, psp, bank_group, geo, device, version, component) to the name of that label in this store. A label that is absent keeps its name.",
              "type": "object",
              "maxProperties": 10,
              "default": {},
              "additionalProperties": {
                "description": "Name of the label in this store.",
                "type": "string",
                "minLength": 1,
                "maxLength": 63,
                "pattern": "^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$"
              },
              "x-kubernetes-validations": [
                {
                  "rule": "self.all(label, label in ['region', 'tenant', 'environment', 'service', 'psp', 'bank_group', 'geo', 'device', 'version', 'component'])",
                  "message": "labelMap names governed labels only"
                },
                {
                  "rule": "self.all(label, self[label] != 'le')",
                  "message": "le holds the bounds of histograms, so no label maps to it"
                },
                {
                  "rule": "self.all(one, self.all(other, one == other || self[one] != self[other]))",
                  "message": "labelMap maps no two labels to one name"
                }
              ]
            },
            "settleSeconds": {
              "description": "Age at which the store's samples no longer change, at least its out-of-order window and two intervals.",
              "type": "integer",
              "minimum": 0,
              "maximum": 86400,
              "default": 300
            },
            "prometheus": {
              "description": "How the store is reached and what it is.",
              "type": "object",
              "required": [
                "url"
              ],
              "x-kubernetes-validations": [
                {
                  "rule": "!has(self.tls) || self.url.startsWith('https:')",
                  "fieldPath": ".tls",
                  "message": "tls is for an https URL"
                },
                {
                  "rule": "!has(self.maxSourceResolution) || self.flavour == 'Thanos'",
                  "fieldPath": ".maxSourceResolution",
                  "message": "maxSourceResolution is for Thanos"
                }
              ],
              "properties": {
                "url": {
                  "description": "Base URL; /api/v1 and what follows is appended.",
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 2048,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches('^https?://[^/?#]')",
                      "message": "the URL is absolute, http or https"
                    },
                    {
                      "rule": "!self.matches('^https?://[^/?#]') || self.matches(r'^https?://([^/?#]*@)?(([A-Za-z0-9_-]+[.])*[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?[.]?|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])|\\[[0-9A-Fa-f:.]+\\])(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?([/?#]|$)')",
                      "message": "the URL names a DNS name, an IPv4 address or an IPv6 address in brackets, and a port up to 65535"
                    },
                    {
                      "rule": "!self.matches('^https?://[[]') || !self.contains(']') || (isIP(self.substring(self.indexOf('[') + 1, self.indexOf(']'))) && ip(self.substring(self.indexOf('[') + 1, self.indexOf(']'))).family() == 6)",
                      "message": "what stands in brackets is an IPv6 address"
                    },
                    {
                      "rule": "!self.matches('^https?://[^/?#]*@')",
                      "message": "the URL holds no user and no password"
                    },
                    {
                      "rule": "!self.contains('?')",
                      "message": "the URL has no query, since the path of the store's API is appended"
                    },
                    {
                      "rule": "!self.contains('#')",
                      "message": "the URL has no fragment"
                    },
                    {
                      "rule": "self.matches(r\"^[A-Za-z0-9\\-._~:/?#\\[\\]@!$&'()*+,;=%]*$\")",
                      "message": "the URL holds only characters of URLs, everything else percent-encoded"
                    }
                  ]
                },
                "timeoutSeconds": {
                  "description": "Bound on one request to the store. A store that is later makes the answer partial, which clients see only when they wait longer than this. Beyond metrics.deadlineMs of the settings it means nothing.",
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 60,
                  "default": 1
                },
                "flavour": {
                  "description": "What the store is. Flavours differ in the header of a tenant, in how they say that an answer is partial, and in increases, which VictoriaMetrics does not extrapolate.",
                  "type": "string",
                  "enum": [
                    "Prometheus",
                    "Thanos",
                    "Mimir",
                    "VictoriaMetrics"
                  ],
                  "default": "Prometheus"
                },
                "tenantHeader": {
                  "description": "Header that tells the store the tenant, for tenancy StoreHeader. When absent, X-Scope-OrgID for Mimir and THANOS-TENANT for Thanos.",
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 64,
                  "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
                  "x-kubernetes-validations": [
                    {
                      "rule": "!(self.lowerAscii() in ['authorization', 'content-type', 'accept', 'user-agent', 'cookie'])",
                      "message": "requests to the store set this header"
                    },
                    {
                      "rule": "!(self.lowerAscii() in ['host', 'content-length', 'content-encoding', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'expect', 'te', 'trailer', 'proxy-connection', 'proxy-authorization', 'accept-encoding'])",
                      "message": "the sender of the request sets this header"
                    }
                  ]
                },
                "headers": {
                  "description": "Fixed headers of every request. Not for credentials, which everyone who may read this object would read.",
                  "type": "array",
                  "maxItems": 16,
                  "default": [],
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": [
                    "name"
                  ],
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.all(a, self.exists_one(b, b.name.lowerAscii() == a.name.lowerAscii()))",
                      "message": "header names differ in more than upper and lower case"
                    }
                  ],
                  "items": {
                    "description": "One header.",
                    "type": "object",
                    "required": [
                      "name",
                      "value"
                    ],
                    "properties": {
                      "name": {
                        "description": "Name of the header; upper and lower case are the same.",
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 64,
                        "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
                        "x-kubernetes-validations": [
                          {
                            "rule": "!(self.lowerAscii() in ['authorization', 'content-type', 'accept', 'user-agent', 'cookie'])",
                            "message": "requests to the store set this header"
                          },
                          {
                            "rule": "!(self.lowerAscii() in ['host', 'content-length', 'content-encoding', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'expect', 'te', 'trailer', 'proxy-connection', 'proxy-authorization', 'accept-encoding'])",
                            "message": "the sender of the request sets this header"
                          }
                        ]
                      },
                      "value": {
                        "description": "Value of the header, visible ASCII.",
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 1024,
                        "pattern": "^[!-~]([ -~]*[!-~])?$"
                      }
                    }
                  }
                },
                "auth": {
                  "description": "Who asks, exactly one of basic and bearer. When absent, nobody in particular.",
                  "type": "object",
                  "x-kubernetes-validations": [
                    {
                      "rule": "has(self.basic) != has(self.bearer)",
                      "message": "auth is exactly one of basic and bearer"
                    }
                  ],
                  "properties": {
                    "basic": {
                      "description": "A user name and a password.",
                      "type": "object",
                      "required": [
                        "secretRef"
                      ],
                      "properties": {
                        "secretRef": {
                          "description": "A Secret in the same namespace, as of the type kubernetes.io/basic-auth.",
                          "type": "object",
                          "required": [
                            "name"
                          ],
                          "properties": {
                            "name": {
                              "description": "Name of the Secret.",
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 253,
                              "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
                            },
                            "usernameKey": {
                              "description": "Name of the entry that holds the user name.",
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 253,
                              "pattern": "^[A-Za-z0-9._-]+$",
                              "default": "username"
                            },
                            "passwordKey": {
                              "description": "Name of the entry that holds the password.",
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 253,
                              "pattern": "^[A-Za-z0-9._-]+$",
                              "default": "password"
                            }
                          }
                        }
                      }
                    },
                    "bearer": {
                      "description": "A bearer token.",
                      "type": "object",
                      "required": [
                        "secretRef"
                      ],
                      "properties": {
                        "secretRef": {
                          "description": "The entry of a Secret in the same namespace that holds the token.",
                          "type": "object",
                          "required": [
                            "name"
                          ],
                          "properties": {
                            "name": {
                              "description": "Name of the Secret.",
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 253,
                              "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
                            },
                            "key": {
                              "description": "Name of the entry that holds the token.",
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 253,
                              "pattern": "^[A-Za-z0-9._-]+$",
                              "default": "token"
                            }
                          }
                        }
                      }
                    }
                  }
                },
                "tls": {
                  "description": "Whom to trust and what to show, for an https URL.",
                  "type": "object",
                  "properties": {
                    "caSecretRef": {
                      "description": "The entry of a Secret in the same namespace that holds the certificates to trust, in PEM. When absent, those that the runtime trusts anyway.",
                      "type": "object",
                      "required": [
                        "name"
                      ],
                      "properties": {
                        "name": {
                          "description": "Name of the Secret.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 253,
                          "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
                        },
                        "key": {
                          "description": "Name of the entry.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 253,
                          "pattern": "^[A-Za-z0-9._-]+$",
                          "default": "ca.crt"
                        }
                      }
                    },
                    "clientSecretRef": {
                      "description": "A Secret in the same namespace, as of the type kubernetes.io/tls, whose tls.crt and tls.key are shown to the store.",
                      "type": "object",
                      "required": [
                        "name"
                      ],
                      "properties": {
                        "name": {
                          "description": "Name of the Secret.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 253,
                          "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
                        }
                      }
                    },
                    "serverName": {
                      "description": "Name that the store's certificate must have. When absent, the host of the URL.",
                      "type": "string",
                      "minLength": 1,
                      "maxLength": 253,
                      "pattern": "^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$"
                    }
                  }
                },
                "maxSourceResolution": {
                  "description": "Coarsest downsampled data that Thanos may answer from, where a point is at least that wide. When absent, raw samples only, which is exact.",
                  "type": "string",
                  "enum": [
                    "5m",
                    "1h"
                  ]
                }
              }
            },
            "peer": {
              "description": "A runtime in another region, which answers partials out of its own stores of the region, by its own catalog, over mutual TLS. No series leaves its region.",
              "type": "object",
              "required": [
                "url",
                "auth",
                "tls"
              ],
              "x-kubernetes-validations": [
                {
                  "rule": "self.url.startsWith('https:')",
                  "fieldPath": ".url",
                  "message": "the URL of a peer is https, since both sides show a certificate"
                }
              ],
              "properties": {
                "url": {
                  "description": "Base URL of the runtime; /v1/metrics/partials is appended.",
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 2048,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches('^https?://[^/?#]')",
                      "message": "the URL is absolute, http or https"
                    },
                    {
                      "rule": "!self.matches('^https?://[^/?#]') || self.matches(r'^https?://([^/?#]*@)?(([A-Za-z0-9_-]+[.])*[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?[.]?|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])|\\[[0-9A-Fa-f:.]+\\])(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?([/?#]|$)')",
                      "message": "the URL names a DNS name, an IPv4 address or an IPv6 address in brackets, and a port up to 65535"
                    },
                    {
                      "rule": "!self.matches('^https?://[[]') || !self.contains(']') || (isIP(self.substring(self.indexOf('[') + 1, self.indexOf(']'))) && ip(self.substring(self.indexOf('[') + 1, self.indexOf(']'))).family() == 6)",
                      "message": "what stands in brackets is an IPv6 address"
                    },
                    {
                      "rule": "!self.matches('^https?://[^/?#]*@')",
                      "message": "the URL holds no user and no password"
                    },
                    {
                      "rule": "!self.contains('?')",
                      "message": "the URL has no query, since the path of the store's API is appended"
                    },
                    {
                      "rule": "!self.contains('#')",
                      "message": "the URL has no fragment"
                    },
                    {
                      "rule": "self.matches(r\"^[A-Za-z0-9\\-._~:/?#\\[\\]@!$&'()*+,;=%]*$\")",
                      "message": "the URL holds only characters of URLs, everything else percent-encoded"
                    }
                  ]
                },
                "timeoutSeconds": {
                  "description": "Bound on one request to the peer. A peer that is later makes the answer partial, which clients see only when they wait longer than this.",
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 60,
                  "default": 1
                },
                "increases": {
                  "description": "How the peer's stores compute increases. Plain when they are VictoriaMetrics, which does not extrapolate.",
                  "type": "string",
                  "enum": [
                    "Extrapolated",
                    "Plain"
                  ],
                  "default": "Extrapolated"
                },
                "auth": {
                  "description": "Who asks, by an access token that is given or fetched, exactly one of bearer and oauth2.",
                  "type": "object",
                  "x-kubernetes-validations": [
                    {
                      "rule": "has(self.bearer) != has(self.oauth2)",
                      "message": "auth is exactly one of bearer and oauth2"
                    }
                  ],
                  "properties": {
                    "oauth2": {
                      "description": "OAuth 2.0 client credentials: a token with the scope metrics:peer is fetched with the certificate of tls.clientSecretRef, to which it has to be bound, and kept until shortly before its end.",
                      "type": "object",
                      "required": [
                        "tokenUrl",
                        "clientId",
                        "secretRef"
                      ],
                      "properties": {
                        "tokenUrl": {
                          "description": "Absolute URL of the token endpoint, https.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 2048,
                          "pattern": "^https://[^/?#@{}]+(/[A-Za-z0-9\\-._~:/\\[\\]@!$&'()*+,;=%]*)?$"
                        },
                        "clientId": {
                          "description": "Client id, visible ASCII.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 256,
                          "pattern": "^[!-~]+$"
                        },
                        "secretRef": {
                          "description": "The entry of a Secret in the same namespace that holds the client secret.",
                          "type": "object",
                          "required": [
                            "name"
                          ],
                          "properties": {
                            "name": {
                              "description": "Name of the Secret.",
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 253,
                              "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
                            },
                            "key": {
                              "description": "Name of the entry that holds the client secret.",
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 253,
                              "pattern": "^[A-Za-z0-9._-]+$",
                              "default": "client-secret"
                            }
                          }
                        },
                        "resource": {
                          "description": "What the token is for, where the authorization server wants to know (RFC 8707). When absent, that is left to it.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 2048,
                          "pattern": "^[!-~]+$"
                        }
                      }
                    },
                    "bearer": {
                      "description": "An access token with the scope metrics:peer that is bound to the certificate of tls.clientSecretRef.",
                      "type": "object",
                      "required": [
                        "secretRef"
                      ],
                      "properties": {
                        "secretRef": {
                          "description": "The entry of a Secret in the same namespace that holds the token.",
                          "type": "object",
                          "required": [
                            "name"
                          ],
                          "properties": {
                            "name": {
                              "description": "Name of the Secret.",
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 253,
                              "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
                            },
                            "key": {
                              "description": "Name of the entry that holds the token.",
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 253,
                              "pattern": "^[A-Za-z0-9._-]+$",
                              "default": "token"
                            }
                          }
                        }
                      }
                    }
                  }
                },
                "tls": {
                  "description": "Whom to trust and what to show.",
                  "type": "object",
                  "required": [
                    "clientSecretRef"
                  ],
                  "properties": {
                    "caSecretRef": {
                      "description": "The entry of a Secret in the same namespace that holds the certificates to trust, in PEM, those of the token endpoint included. When absent, those that the runtime trusts anyway.",
                      "type": "object",
                      "required": [
                        "name"
                      ],
                      "properties": {
                        "name": {
                          "description": "Name of the Secret.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 253,
                          "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
                        },
                        "key": {
                          "description": "Name of the entry.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 253,
                          "pattern": "^[A-Za-z0-9._-]+$",
                          "default": "ca.crt"
                        }
                      }
                    },
                    "clientSecretRef": {
                      "description": "A Secret in the same namespace, as of the type kubernetes.io/tls, whose tls.crt and tls.key are shown to the peer, and to the token endpoint.",
                      "type": "object",
                      "required": [
                        "name"
                      ],
                      "properties": {
                        "name": {
                          "description": "Name of the Secret.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 253,
                          "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
                        }
                      }
                    },
                    "serverName": {
                      "description": "Name that the peer's certificate must have. When absent, the host of the URL.",
                      "type": "string",
                      "minLength": 1,
                      "maxLength": 253,
                      "pattern": "^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$"
                    }
                  }
                }
              }
            }
          }
        }
      },
      "metrics": {
        "description": "The metrics, each under the id that clients use.",
        "type": "array",
        "minItems": 1,
        "maxItems": 256,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [
          "id"
        ],
        "items": {
          "description": "One metric.",
          "type": "object",
          "required": [
            "id",
            "category",
            "unit",
            "description",
            "source",
            "aggregations",
            "defaultAggregation"
          ],
          "x-kubernetes-validations": [
            {
              "rule": "has(self.source.histogram) || !self.aggregations.exists(a, a in ['p50', 'p95', 'p99'])",
              "fieldPath": ".aggregations",
              "message": "percentiles need a histogram"
            },
            {
              "rule": "!has(self.source.histogram) || !self.aggregations.exists(a, a in ['min', 'max'])",
              "fieldPath": ".aggregations",
              "message": "a histogram knows neither min nor max"
            },
            {
              "rule": "!has(self.source.ratio) || self.aggregations.all(a, a == 'avg')",
              "fieldPath": ".aggregations",
              "message": "a ratio has avg only, since nothing else of a ratio composes"
            },
            {
              "rule": "self.defaultAggregation in self.aggregations",
              "fieldPath": ".defaultAggregation",
              "message": "defaultAggregation is one of the aggregations"
            },
            {
              "rule": "has(self.source.gauge) || !has(self.minStepSeconds) || (self.minStepSeconds >= 2 * self.source.intervalSeconds && self.source.storeIntervals.all(i, self.minStepSeconds >= 2 * i.intervalSeconds))",
              "fieldPath": ".minStepSeconds",
              "message": "minStepSeconds is at least two intervals, since an increase needs two samples"
            },
            {
              "rule": "(self.sensitivity != 'none') == has(self.requiredRole)",
              "fieldPath": ".requiredRole",
              "message": "requiredRole is set when, and only when, sensitivity is not none"
            },
            {
              "rule": "self.state == 'Deprecated' || !(has(self.replacedBy) || has(self.deprecatedAt) || has(self.sunsetAt))",
              "fieldPath": ".state",
              "message": "replacedBy, deprecatedAt and sunsetAt are for deprecated metrics"
            },
            {
              "rule": "self.state != 'Deprecated' || has(self.deprecatedAt)",
              "fieldPath": ".deprecatedAt",
              "message": "a deprecated metric says since when, in deprecatedAt"
            },
            {
              "rule": "!has(self.deprecatedAt) || !has(self.sunsetAt) || self.sunsetAt - self.deprecatedAt >= duration('4320h')",
              "fieldPath": ".sunsetAt",
              "message": "sunsetAt is at least 180 days after deprecatedAt"
            }
          ],
          "properties": {
            "id": {
              "description": "The only name that clients use.",
              "type": "string",
              "minLength": 1,
              "maxLength": 64,
              "pattern": "^[a-z][a-z0-9_]*$"
            },
            "category": {
              "description": "Group of the metric in the catalog that clients read.",
              "type": "string",
              "enum": [
                "slo",
                "kri",
                "business",
                "infrastructure",
                "api"
              ]
            },
            "unit": {
              "description": "Unit of the values, for example ms, ratio or 1/s.",
              "type": "string",
              "minLength": 1,
              "maxLength": 32
            },
            "description": {
              "description": "What the metric says, in a sentence.",
              "type": "string",
              "minLength": 1,
              "maxLength": 1024
            },
            "source": {
              "description": "What the metric is in the stores, exactly one of gauge, counter, ratio and histogram.",
              "type": "object",
              "required": [
                "intervalSeconds"
              ],
              "x-kubernetes-validations": [
                {
                  "rule": "[has(self.gauge), has(self.counter), has(self.ratio), has(self.histogram)].exists_one(k, k)",
                  "message": "a source is exactly one of gauge, counter, ratio and histogram"
                }
              ],
              "properties": {
                "gauge": {
                  "description": "A value that goes up and down.",
                  "type": "object",
                  "required": [
                    "name"
                  ],
                  "properties": {
                    "name": {
                      "description": "Name of the series in the store.",
                      "type": "string",
                      "minLength": 1,
                      "maxLength": 128,
                      "pattern": "^[a-zA-Z_:][a-zA-Z0-9_:]*$"
                    },
                    "matchers": {
                      "description": "Fixed matchers of the series.",
                      "type": "array",
                      "maxItems": 8,
                      "default": [],
                      "x-kubernetes-list-type": "atomic",
                      "items": {
                        "description": "One matcher.",
                        "type": "object",
                        "required": [
                          "label",
                          "value"
                        ],
                        "x-kubernetes-validations": [
                          {
                            "rule": "!(self.op in ['Matches', 'NotMatches']) || (''.matches(self.value) in [true, false] && ''.matches('^(?s:' + self.value + ')$') in [true, false])",
                            "message": "the value of Matches and NotMatches is an RE2 expression"
                          }
                        ],
                        "properties": {
                          "label": {
                            "description": "Name of the label in the store; neither le nor a reserved name.",
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 63,
                            "pattern": "^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$",
                            "x-kubernetes-validations": [
                              {
                                "rule": "self != 'le'",
                                "message": "le holds the bounds of histograms, so no matcher names it"
                              }
                            ]
                          },
                          "op": {
                            "description": "Matches and NotMatches take an anchored RE2 expression.",
                            "type": "string",
                            "enum": [
                              "Equal",
                              "NotEqual",
                              "Matches",
                              "NotMatches"
                            ],
                            "default": "Equal"
                          },
                          "value": {
                            "description": "Value or expression.",
                            "type": "string",
                            "maxLength": 256
                          }
                        }
                      }
                    }
                  }
                },
                "counter": {
                  "description": "A value that only grows, and starts again at zero.",
                  "type": "object",
                  "required": [
                    "name"
                  ],
                  "properties": {
                    "name": {
                      "description": "Name of the series in the store.",
                      "type": "string",
                      "minLength": 1,
                      "maxLength": 128,
                      "pattern": "^[a-zA-Z_:][a-zA-Z0-9_:]*$"
                    },
                    "matchers": {
                      "description": "Fixed matchers of the series.",
                      "type": "array",
                      "maxItems": 8,
                      "default": [],
                      "x-kubernetes-list-type": "atomic",
                      "items": {
                        "description": "One matcher.",
                        "type": "object",
                        "required": [
                          "label",
                          "value"
                        ],
                        "x-kubernetes-validations": [
                          {
                            "rule": "!(self.op in ['Matches', 'NotMatches']) || (''.matches(self.value) in [true, false] && ''.matches('^(?s:' + self.value + ')$') in [true, false])",
                            "message": "the value of Matches and NotMatches is an RE2 expression"
                          }
                        ],
                        "properties": {
                          "label": {
                            "description": "Name of the label in the store; neither le nor a reserved name.",
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 63,
                            "pattern": "^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$",
                            "x-kubernetes-validations": [
                              {
                                "rule": "self != 'le'",
                                "message": "le holds the bounds of histograms, so no matcher names it"
                              }
                            ]
                          },
                          "op": {
                            "description": "Matches and NotMatches take an anchored RE2 expression.",
                            "type": "string",
                            "enum": [
                              "Equal",
                              "NotEqual",
                              "Matches",
                              "NotMatches"
                            ],
                            "default": "Equal"
                          },
                          "value": {
                            "description": "Value or expression.",
                            "type": "string",
                            "maxLength": 256
                          }
                        }
                      }
                    },
                    "increase": {
                      "description": "Extrapolated is increase() as every store has it. Anchored needs stores with extended range selectors and is additive over time.",
                      "type": "string",
                      "enum": [
                        "Extrapolated",
                        "Anchored"
                      ],
                      "default": "Extrapolated"
                    }
                  }
                },
                "ratio": {
                  "description": "The increase of one counter over the increase of another.",
                  "type": "object",
                  "required": [
                    "numerator",
                    "denominator"
                  ],
                  "properties": {
                    "numerator": {
                      "description": "The counter above the line.",
                      "type": "object",
                      "required": [
                        "name"
                      ],
                      "properties": {
                        "name": {
                          "description": "Name of the series in the store.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 128,
                          "pattern": "^[a-zA-Z_:][a-zA-Z0-9_:]*$"
                        },
                        "matchers": {
                          "description": "Fixed matchers of the series.",
                          "type": "array",
                          "maxItems": 8,
                          "default": [],
                          "x-kubernetes-list-type": "atomic",
                          "items": {
                            "description": "One matcher.",
                            "type": "object",
                            "required": [
                              "label",
                              "value"
                            ],
                            "x-kubernetes-validations": [
                              {
                                "rule": "!(self.op in ['Matches', 'NotMatches']) || (''.matches(self.value) in [true, false] && ''.matches('^(?s:' + self.value + ')$') in [true, false])",
                                "message": "the value of Matches and NotMatches is an RE2 expression"
                              }
                            ],
                            "properties": {
                              "label": {
                                "description": "Name of the label in the store; neither le nor a reserved name.",
                                "type": "string",
                                "minLength": 1,
                                "maxLength": 63,
                                "pattern": "^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$",
                                "x-kubernetes-validations": [
                                  {
                                    "rule": "self != 'le'",
                                    "message": "le holds the bounds of histograms, so no matcher names it"
                                  }
                                ]
                              },
                              "op": {
                                "description": "Matches and NotMatches take an anchored RE2 expression.",
                                "type": "string",
                                "enum": [
                                  "Equal",
                                  "NotEqual",
                                  "Matches",
                                  "NotMatches"
                                ],
                                "default": "Equal"
                              },
                              "value": {
                                "description": "Value or expression.",
                                "type": "string",
                                "maxLength": 256
                              }
                            }
                          }
                        }
                      }
                    },
                    "denominator": {
                      "description": "The counter below the line.",
                      "type": "object",
                      "required": [
                        "name"
                      ],
                      "properties": {
                        "name": {
                          "description": "Name of the series in the store.",
                          "type": "string",
                          "minLength": 1,
                          "maxLength": 128,
                          "pattern": "^[a-zA-Z_:][a-zA-Z0-9_:]*$"
                        },
                        "matchers": {
                          "description": "Fixed matchers of the series.",
                          "type": "array",
                          "maxItems": 8,
                          "default": [],
                          "x-kubernetes-list-type": "atomic",
                          "items": {
                            "description": "One matcher.",
                            "type": "object",
                            "required": [
                              "label",
                              "value"
                            ],
                            "x-kubernetes-validations": [
                              {
                                "rule": "!(self.op in ['Matches', 'NotMatches']) || (''.matches(self.value) in [true, false] && ''.matches('^(?s:' + self.value + ')$') in [true, false])",
                                "message": "the value of Matches and NotMatches is an RE2 expression"
                              }
                            ],
                            "properties": {
                              "label": {
                                "description": "Name of the label in the store; neither le nor a reserved name.",
                                "type": "string",
                                "minLength": 1,
                                "maxLength": 63,
                                "pattern": "^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$",
                                "x-kubernetes-validations": [
                                  {
                                    "rule": "self != 'le'",
                                    "message": "le holds the bounds of histograms, so no matcher names it"
                                  }
                                ]
                              },
                              "op": {
                                "description": "Matches and NotMatches take an anchored RE2 expression.",
                                "type": "string",
                                "enum": [
                                  "Equal",
                                  "NotEqual",
                                  "Matches",
                                  "NotMatches"
                                ],
                                "default": "Equal"
                              },
                              "value": {
                                "description": "Value or expression.",
                                "type": "string",
                                "maxLength": 256
                              }
                            }
                          }
                        }
                      }
                    },
                    "increase": {
                      "description": "Extrapolated is increase() as every store has it. Anchored needs stores with extended range selectors and is additive over time.",
                      "type": "string",
                      "enum": [
                        "Extrapolated",
                        "Anchored"
                      ],
                      "default": "Extrapolated"
                    }
                  }
                },
                "histogram": {
                  "description": "A distribution.",
                  "type": "object",
                  "required": [
                    "name"
                  ],
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.type != 'Native' || self.increase != 'Anchored'",
                      "fieldPath": ".increase",
                      "message": "the increase of a native histogram is Extrapolated"
                    }
                  ],
                  "properties": {
                    "type": {
                      "description": "Classic is one series for each bound, with the label le. Native is one series whose samples are histograms, with exponential or custom bounds.",
                      "type": "string",
                      "enum": [
                        "Classic",
                        "Native"
                      ],
                      "default": "Classic"
                    },
                    "name": {
                      "description": "Name of the histogram in the store, without _bucket, _sum and _count.",
                      "type": "string",
                      "minLength": 1,
                      "maxLength": 128,
                      "pattern": "^[a-zA-Z_:][a-zA-Z0-9_:]*$",
                      "x-kubernetes-validations": [
                        {
                          "rule": "!self.matches('_(bucket|sum|count)$')",
                          "message": "a histogram's name goes without _bucket, _sum and _count"
                        }
                      ]
                    },
                    "matchers": {
                      "description": "Fixed matchers of the series.",
                      "type": "array",
                      "maxItems": 8,
                      "default": [],
                      "x-kubernetes-list-type": "atomic",
                      "items": {
                        "description": "One matcher.",
                        "type": "object",
                        "required": [
                          "label",
                          "value"
                        ],
                        "x-kubernetes-validations": [
                          {
                            "rule": "!(self.op in ['Matches', 'NotMatches']) || (''.matches(self.value) in [true, false] && ''.matches('^(?s:' + self.value + ')$') in [true, false])",
                            "message": "the value of Matches and NotMatches is an RE2 expression"
                          }
                        ],
                        "properties": {
                          "label": {
                            "description": "Name of the label in the store; neither le nor a reserved name.",
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 63,
                            "pattern": "^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9_]*$",
                            "x-kubernetes-validations": [
                              {
                                "rule": "self != 'le'",
                                "message": "le holds the bounds of histograms, so no matcher names it"
                              }
                            ]
                          },
                          "op": {
                            "description": "Matches and NotMatches take an anchored RE2 expression.",
                            "type": "string",
                            "enum": [
                              "Equal",
                              "NotEqual",
                              "Matches",
                              "NotMatches"
                            ],
                            "default": "Equal"
                          },
                          "value": {
                            "description": "Value or expression.",
                            "type": "string",
                            "maxLength": 256
                          }
                        }
                      }
                    },
                    "increase": {
                      "description": "Extrapolated is increase() as every store has it. Anchored needs stores with extended range selectors and is additive over time.",
                      "type": "string",
                      "enum": [
                        "Extrapolated",
                        "Anchored"
                      ],
                      "default": "Extrapolated"
                    }
                  }
                },
                "intervalSeconds": {
                  "description": "Seconds between two samples.",
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 3600
                },
                "storeIntervals": {
                  "description": "Stores with another interval.",
                  "type": "array",
                  "maxItems": 32,
                  "default": [],
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": [
                    "store"
                  ],
                  "items": {
                    "description": "One store and its interval.",
                    "type": "object",
                    "required": [
                      "store",
                      "intervalSeconds"
                    ],
                    "properties": {
                      "store": {
                        "description": "Name of the store.",
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 63,
                        "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
                      },
                      "intervalSeconds": {
                        "description": "Seconds between two samples in this store.",
                        "type": "integer",
                        "minimum": 1,
                        "maximum": 3600
                      }
                    }
                  }
                }
              }
            },
            "stores": {
              "description": "Names of the stores that hold the metric. When absent, every store of the catalog.",
              "type": "array",
              "minItems": 1,
              "maxItems": 32,
              "x-kubernetes-list-type": "set",
              "items": {
                "description": "Name of one store.",
                "type": "string",
                "minLength": 1,
                "maxLength": 63,
                "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
              }
            },
            "minStepSeconds": {
              "description": "Smallest step, and smallest window of one point. When absent, four times the largest interval, and at least 10.",
              "type": "integer",
              "minimum": 10,
              "maximum": 86400
            },
            "labels": {
              "description": "Governed labels that clients may filter and group by.",
              "type": "array",
              "maxItems": 10,
              "default": [],
              "x-kubernetes-list-type": "set",
              "items": {
                "description": "One label of the closed list.",
                "type": "string",
                "enum": [
                  "region",
                  "tenant",
                  "environment",
                  "service",
                  "psp",
                  "bank_group",
                  "geo",
                  "device",
                  "version",
                  "component"
                ]
              }
            },
            "aggregations": {
              "description": "Aggregations that clients may ask for. A gauge and a counter have avg, sum, min and max, a ratio has avg, a histogram has avg, sum and the percentiles.",
              "type": "array",
              "minItems": 1,
              "maxItems": 7,
              "x-kubernetes-list-type": "set",
              "items": {
                "description": "One aggregation.",
                "type": "string",
                "enum": [
                  "avg",
                  "sum",
                  "min",
                  "max",
                  "p50",
                  "p95",
                  "p99"
                ]
              }
            },
            "defaultAggregation": {
              "description": "Aggregation of a query that names none.",
              "type": "string",
              "enum": [
                "avg",
                "sum",
                "min",
                "max",
                "p50",
                "p95",
                "p99"
              ]
            },
            "maxGroupBy": {
              "description": "Labels that one query may group by.",
              "type": "integer",
              "minimum": 0,
              "maximum": 10,
              "default": 4
            },
            "sensitivity": {
              "description": "Kind of regulatory risk; each needs its own role.",
              "type": "string",
              "enum": [
                "none",
                "finance",
                "responsible-gaming"
              ],
              "default": "none"
            },
            "requiredRole": {
              "description": "Role that a caller needs for a sensitive metric.",
              "type": "string",
              "minLength": 1,
              "maxLength": 64,
              "pattern": "^[A-Za-z0-9._:/-]+$"
            },
            "complianceScope": {
              "description": "States that aggregates of this metric carry no personal data. When absent, a query stays in one region.",
              "type": "object",
              "required": [
                "regions"
              ],
              "properties": {
                "regions": {
                  "description": "Regions that one query may span.",
                  "type": "array",
                  "minItems": 2,
                  "maxItems": 32,
                  "x-kubernetes-list-type": "set",
                  "items": {
                    "description": "One region.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 63,
                    "pattern": "^[A-Za-z0-9_-]+$"
                  }
                }
              }
            },
            "queryClass": {
              "description": "Class of requests for this metric whose client no quota names.",
              "type": "string",
              "enum": [
                "A",
                "B",
                "C"
              ],
              "default": "B"
            },
            "state": {
              "description": "Deprecated metrics answer until their sunset.",
              "type": "string",
              "enum": [
                "Active",
                "Deprecated"
              ],
              "default": "Active"
            },
            "replacedBy": {
              "description": "Metric to use instead.",
              "type": "string",
              "minLength": 1,
              "maxLength": 64,
              "pattern": "^[a-z][a-z0-9_]*$"
            },
            "deprecatedAt": {
              "description": "Time in UTC since when the metric is deprecated.",
              "type": "string",
              "format": "date-time",
              "maxLength": 24,
              "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,3})?Z$"
            },
            "sunsetAt": {
              "description": "Time in UTC when the metric goes, at least 180 days after deprecatedAt. When absent, exactly that.",
              "type": "string",
              "format": "date-time",
              "maxLength": 24,
              "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,3})?Z$"
            }
          }
        }
      },
      "slos": {
        "description": "Objectives, shown in the catalog entry of their metric and as SLO views.",
        "type": "array",
        "maxItems": 128,
        "default": [],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [
          "name"
        ],
        "items": {
          "description": "One objective over the events that a metric counts.",
          "type": "object",
          "required": [
            "name",
            "domain",
            "metric",
            "objective"
          ],
          "x-kubernetes-validations": [
            {
              "rule": "self.objective > 0.0 && self.objective < 1.0",
              "fieldPath": ".objective",
              "message": "an objective is more than 0 and less than 1"
            },
            {
              "rule": "self.burnRates.all(rate, rate * (1.0 - self.objective) < 1.0)",
              "fieldPath": ".burnRates",
              "message": "every burn rate is below 1 / (1 - objective), since errors burn no faster even when nothing succeeds"
            },
            {
              "rule": "[0, 1, 2].all(tier, self.burnRates[tier] >= self.burnRates[tier + 1])",
              "fieldPath": ".burnRates",
              "message": "no burn rate is above the one before it"
            },
            {
              "rule": "self.public || !has(self.publicTenants)",
              "fieldPath": ".publicTenants",
              "message": "publicTenants are for a public SLO"
            }
          ],
          "properties": {
            "name": {
              "description": "Name of the objective among the catalog's objectives.",
              "type": "string",
              "minLength": 1,
              "maxLength": 63,
              "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
            },
            "domain": {
              "description": "Business domain that clients select objectives by.",
              "type": "string",
              "minLength": 1,
              "maxLength": 63,
              "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
            },
            "metric": {
              "description": "Metric that counts the events, a ratio or a classic histogram.",
              "type": "string",
              "minLength": 1,
              "maxLength": 64,
              "pattern": "^[a-z][a-z0-9_]*$"
            },
            "objective": {
              "description": "Share of good events, for example 0.999.",
              "type": "number",
              "minimum": 0,
              "maximum": 1
            },
            "counts": {
              "description": "Whether the events that the metric singles out are good or bad; those are the numerator of a ratio and the values of a histogram up to the threshold.",
              "type": "string",
              "enum": [
                "Good",
                "Bad"
              ],
              "default": "Good"
            },
            "threshold": {
              "description": "Bound of one of the histogram's buckets, in the unit of the metric.",
              "type": "number",
              "minimum": -1000000000000,
              "maximum": 1000000000000
            },
            "windowDays": {
              "description": "Days that the objective is kept over, always the last ones.",
              "type": "integer",
              "minimum": 1,
              "maximum": 90,
              "default": 30
            },
            "minimumEvents": {
              "description": "Events without which nothing is concluded, neither from the whole window nor from the long window of a burn rate.",
              "type": "integer",
              "minimum": 1,
              "maximum": 1000000000,
              "default": 100
            },
            "burnRates": {
              "description": "How many times faster than evenly the error budget burns when the four tiers fire, in both of their windows. Over 30 days these are 1 h and 5 min, 6 h and 30 min, 1 d and 2 h, 3 d and 6 h; over other windows in proportion. The first two make the objective critical.",
              "type": "array",
              "minItems": 4,
              "maxItems": 4,
              "default": [
                14.4,
                6,
                3,
                1
              ],
              "x-kubernetes-list-type": "atomic",
              "items": {
                "description": "One burn rate; 1 spends the budget exactly when the window ends.",
                "type": "number",
                "minimum": 0.1,
                "maximum": 1000
              }
            },
            "public": {
              "description": "Whether the view needs no token. The request then names the tenant.",
              "type": "boolean",
              "default": false
            },
            "publicTenants": {
              "description": "Tenants whose view is public. When absent, nobody is shown anything without a token.",
              "type": "array",
              "minItems": 1,
              "maxItems": 64,
              "x-kubernetes-list-type": "set",
              "items": {
                "description": "One tenant.",
                "type": "string",
                "minLength": 1,
                "maxLength": 64,
                "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]*$"
              }
            }
          }
        }
      }
    }
  },
  "QueryClassQuota": {
    "description": "A class, its limits and the clients that belong to it.",
    "type": "object",
    "required": [
      "class"
    ],
    "properties": {
      "class": {
        "description": "A is real-time dashboards, B is operations, C is analytics.",
        "type": "string",
        "enum": [
          "A",
          "B",
          "C"
        ]
      },
      "limits": {
        "description": "Bounds of one request, and of one client in all. What is absent has the built-in value of the class.",
        "type": "object",
        "default": {},
        "properties": {
          "maxSeries": {
            "description": "Series in the whole answer.",
            "type": "integer",
            "minimum": 1,
            "maximum": 50
          },
          "maxWindowSeconds": {
            "description": "Longest window of a query.",
            "type": "integer",
            "minimum": 60,
            "maximum": 94608000
          },
          "minStepSeconds": {
            "description": "Smallest step of a query, beside the metric's own.",
            "type": "integer",
            "minimum": 10,
            "maximum": 86400
          },
          "maxGroupBy": {
            "description": "Labels that one query may group by, beside the metric's own bound.",
            "type": "integer",
            "minimum": 0,
            "maximum": 10
          },
          "requestsPerSecond": {
            "description": "Requests that each client may make in a second, over all pods.",
            "type": "integer",
            "minimum": 1,
            "maximum": 10000
          },
          "burst": {
            "description": "Requests that each client may make at once after a pause. Each doubling of a window beyond three hours spends one more of them.",
            "type": "integer",
            "minimum": 1,
            "maximum": 100000
          },
          "costUnitsPerMinute": {
            "description": "Points that the stores may compute for each client in a minute.",
            "type": "integer",
            "minimum": 1,
            "maximum": 10000000000
          },
          "burstCostUnits": {
            "description": "Points that the stores may compute for each client at once after a pause.",
            "type": "integer",
            "minimum": 1,
            "maximum": 10000000000
          },
          "maxConcurrent": {
            "description": "Requests of each client that may be under way at once in one pod.",
            "type": "integer",
            "minimum": 1,
            "maximum": 1000
          }
        }
      },
      "cache": {
        "description": "For how long what stores answered is served. What is absent has the built-in value of the class.",
        "type": "object",
        "default": {},
        "x-kubernetes-validations": [
          {
            "rule": "!has(self.memorySeconds) || !has(self.hotTailSeconds) || self.hotTailSeconds <= self.memorySeconds",
            "message": "hotTailSeconds is at most memorySeconds"
          }
        ],
        "properties": {
          "memorySeconds": {
            "description": "Points that no longer change; 0 keeps nothing.",
            "type": "integer",
            "minimum": 0,
            "maximum": 60
          },
          "distributedSeconds": {
            "description": "Points that no longer change, shared by all pods; 0 shares nothing.",
            "type": "integer",
            "minimum": 0,
            "maximum": 300
          },
          "hotTailSeconds": {
            "description": "Points that are younger than the settleSeconds of their store; 0 reads them each time.",
            "type": "integer",
            "minimum": 0,
            "maximum": 60
          },
          "staleWhileRevalidateSeconds": {
            "description": "For how long after the pod's own lifetimes points are served once more, at once, while they are read again in the background. None becomes older than 60 s by it; 0 waits for the store.",
            "type": "integer",
            "minimum": 0,
            "maximum": 60
          }
        }
      },
      "perMetric": {
        "description": "Bounds of each client for single metrics, beside those of the class.",
        "type": "array",
        "maxItems": 256,
        "default": [],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [
          "metric"
        ],
        "items": {
          "description": "One metric. A bound that is absent is only that of the class.",
          "type": "object",
          "required": [
            "metric"
          ],
          "x-kubernetes-validations": [
            {
              "rule": "has(self.requestsPerSecond) || has(self.costUnitsPerMinute)",
              "message": "a metric has requestsPerSecond or costUnitsPerMinute"
            }
          ],
          "properties": {
            "metric": {
              "description": "Metric id.",
              "type": "string",
              "minLength": 1,
              "maxLength": 64,
              "pattern": "^[a-z][a-z0-9_]*$"
            },
            "requestsPerSecond": {
              "description": "Requests for the metric in a second; as many again may come at once after a pause.",
              "type": "integer",
              "minimum": 1,
              "maximum": 10000
            },
            "costUnitsPerMinute": {
              "description": "Points of the metric that the stores may compute in a minute, and at once after a pause.",
              "type": "integer",
              "minimum": 1,
              "maximum": 10000000000
            }
          }
        }
      },
      "clients": {
        "description": "Clients and scopes that belong to the class under these limits. Without any, the limits are those of everyone in the class whom no other quota names.",
        "type": "array",
        "maxItems": 256,
        "default": [],
        "x-kubernetes-list-type": "atomic",
        "x-kubernetes-validations": [
          {
            "rule": "[self.filter(c, has(c.clientId)).map(c, c.clientId)].all(ids, ids.all(id, ids.indexOf(id) == ids.lastIndexOf(id)))",
            "message": "each clientId appears once"
          },
          {
            "rule": "[self.filter(c, has(c.scope)).map(c, c.scope)].all(scopes, scopes.all(scope, scopes.indexOf(scope) == scopes.lastIndexOf(scope)))",
            "message": "each scope appears once"
          }
        ],
        "items": {
          "description": "One client or scope. Lists that are empty narrow nothing.",
          "type": "object",
          "x-kubernetes-validations": [
            {
              "rule": "has(self.clientId) != has(self.scope)",
              "message": "a client has either a clientId or a scope"
            }
          ],
          "properties": {
            "clientId": {
              "description": "Client key of the token.",
              "type": "string",
              "minLength": 1,
              "maxLength": 128,
              "pattern": "^[!-~]+$"
            },
            "scope": {
              "description": "Scope of the token, for clients that no quota names by clientId.",
              "type": "string",
              "minLength": 1,
              "maxLength": 128,
              "pattern": "^[A-Za-z0-9._:/-]+$"
            },
            "tenants": {
              "description": "Tenants that the token's grant is narrowed to.",
              "type": "array",
              "maxItems": 256,
              "default": [],
              "x-kubernetes-list-type": "set",
              "items": {
                "description": "One tenant.",
                "type": "string",
                "minLength": 1,
                "maxLength": 64,
                "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]*$"
              }
            },
            "regions": {
              "description": "Regions that the token's grant is narrowed to.",
              "type": "array",
              "maxItems": 32,
              "default": [],
              "x-kubernetes-list-type": "set",
              "items": {
                "description": "One region.",
                "type": "string",
                "minLength": 1,
                "maxLength": 63,
                "pattern": "^[A-Za-z0-9_-]+$"
              }
            },
            "environments": {
              "description": "Environments that the token's grant is narrowed to.",
              "type": "array",
              "maxItems": 32,
              "default": [],
              "x-kubernetes-list-type": "set",
              "items": {
                "description": "One environment.",
                "type": "string",
                "minLength": 1,
                "maxLength": 63,
                "pattern": "^[A-Za-z0-9_-]+$"
              }
            },
            "metrics": {
              "description": "Metric ids that the token's grant is narrowed to.",
              "type": "array",
              "maxItems": 256,
              "default": [],
              "x-kubernetes-list-type": "set",
              "items": {
                "description": "One metric id.",
                "type": "string",
                "minLength": 1,
                "maxLength": 64,
                "pattern": "^[a-z][a-z0-9_]*$"
              }
            }
          }
        }
      }
    }
  },
  "WebhookPartner": {
    "description": "Where the partner's events go, how they are signed, and which events they are.",
    "type": "object",
    "required": [
      "endpoint",
      "signing",
      "subscriptions"
    ],
    "x-kubernetes-validations": [
      {
        "rule": "self.networks.allowPlaintext || !self.endpoint.url.startsWith('http:')",
        "fieldPath": ".endpoint.url",
        "message": "the endpoint's URL is https, unless networks.allowPlaintext is true"
      }
    ],
    "properties": {
      "endpoint": {
        "description": "The HTTP endpoint that receives the events.",
        "type": "object",
        "required": [
          "url"
        ],
        "properties": {
          "url": {
            "description": "Absolute URL of the endpoint. Its path may hold {domain}, which becomes the first segment of the event type. Without a path, or with / alone, the path is /webhooks/v1/{domain}.",
            "type": "string",
            "minLength": 1,
            "maxLength": 2048,
            "x-kubernetes-validations": [
              {
                "rule": "self.matches('^https?://[^/?#]')",
                "message": "the URL is absolute, http or https"
              },
              {
                "rule": "!self.matches('^https?://[^/?#]') || self.matches(r'^https?://([^/?#]*@)?(([A-Za-z0-9_-]+[.])*[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?[.]?|((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])|\\[[0-9A-Fa-f:.]+\\])(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?([/?#]|$)')",
                "message": "the URL names a DNS name, an IPv4 address or an IPv6 address in brackets, and a port up to 65535"
              },
              {
                "rule": "!self.matches('^https?://[[]') || !self.contains(']') || (isIP(self.substring(self.indexOf('[') + 1, self.indexOf(']'))) && ip(self.substring(self.indexOf('[') + 1, self.indexOf(']'))).family() == 6)",
                "message": "what stands in brackets is an IPv6 address"
              },
              {
                "rule": "!self.matches('^https?://[^/?#]*@')",
                "message": "the URL holds no user and no password"
              },
              {
                "rule": "!self.contains('?')",
                "message": "the URL has no query, since HmacV1 signs the path alone"
              },
              {
                "rule": "!self.contains('#')",
                "message": "the URL has no fragment"
              },
              {
                "rule": "self.matches('^([^{}]|[{]domain[}])*$')",
                "message": "the only placeholder in the URL is {domain}"
              },
              {
                "rule": "self.matches(r\"^[A-Za-z0-9\\-._~:/?#\\[\\]@!$&'()*+,;=%{}]*$\")",
                "message": "the URL holds only characters of URLs, everything else percent-encoded"
              }
            ]
          },
          "timeoutSeconds": {
            "description": "Bound on one whole attempt, from the look-up of the name to the last byte of the answer.",
            "type": "integer",
            "minimum": 1,
            "maximum": 60,
            "default": 10
          },
          "headers": {
            "description": "Fixed headers of every request. Not for credentials, which everyone who may read this object would read, and not the headers that the signing scheme or HTTP itself sets.",
            "type": "array",
            "maxItems": 16,
            "default": [],
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": [
              "name"
            ],
            "x-kubernetes-validations": [
              {
                "rule": "self.all(a, self.exists_one(b, b.name.lowerAscii() == a.name.lowerAscii()))",
                "message": "header names differ in more than upper and lower case"
              }
            ],
            "items": {
              "description": "One header.",
              "type": "object",
              "required": [
                "name",
                "value"
              ],
              "properties": {
                "name": {
                  "description": "Name of the header; upper and lower case are the same.",
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 64,
                  "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
                  "x-kubernetes-validations": [
                    {
                      "rule": "!(self.lowerAscii() in ['x-signature', 'x-timestamp', 'x-event-id', 'x-attempt', 'x-webhook-producer', 'x-webhook-replay', 'user-agent', 'content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature', 'content-digest', 'signature-input', 'signature', 'traceparent'])",
                      "message": "every delivery sets this header"
                    },
                    {
                      "rule": "!(self.lowerAscii() in ['host', 'content-length', 'content-encoding', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'expect', 'te', 'trailer', 'proxy-connection', 'proxy-authorization', 'accept-encoding'])",
                      "message": "the sender of the request sets this header"
                    }
                  ]
                },
                "value": {
                  "description": "Value of the header, visible ASCII.",
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 1024,
                  "pattern": "^[!-~]([ -~]*[!-~])?$"
                }
              }
            }
          },
          "caBundleRef": {
            "description": "The entry of a Secret in the same namespace that holds the certificates, in PEM, that are trusted for the endpoint instead of the system's roots.",
            "type": "object",
            "required": [
              "name"
            ],
            "properties": {
              "name": {
                "description": "Name of the Secret.",
                "type": "string",
                "minLength": 1,
                "maxLength": 253,
                "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
              },
              "key": {
                "description": "Name of the entry in the Secret.",
                "type": "string",
                "minLength": 1,
                "maxLength": 253,
                "pattern": "^[A-Za-z0-9._-]+$",
                "default": "ca.crt"
              }
            }
          },
          "clientCertificateRef": {
            "description": "A Secret in the same namespace, as of the type kubernetes.io/tls, whose tls.crt and tls.key are shown to the endpoint.",
            "type": "object",
            "required": [
              "name"
            ],
            "properties": {
              "name": {
                "description": "Name of the Secret.",
                "type": "string",
                "minLength": 1,
                "maxLength": 253,
                "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
              }
            }
          },
          "oauth2": {
            "description": "OAuth 2.0 client credentials: a token is fetched, kept until shortly before its end and sent with every delivery. One that the endpoint answers 401 to is fetched anew, once in an attempt.",
            "type": "object",
            "required": [
              "tokenUrl",
              "clientId",
              "clientSecretRef"
            ],
            "properties": {
              "tokenUrl": {
                "description": "Absolute URL of the token endpoint; it is guarded like the endpoint itself.",
                "type": "string",
                "minLength": 1,
                "maxLength": 2048,
                "pattern": "^https?://[^/?#@{}]+(/[A-Za-z0-9\\-._~:/\\[\\]@!$&'()*+,;=%]*)?$"
              },
              "clientId": {
                "description": "Client id, visible ASCII.",
                "type": "string",
                "minLength": 1,
                "maxLength": 256,
                "pattern": "^[!-~]+$"
              },
              "clientSecretRef": {
                "description": "The entry of a Secret in the same namespace that holds the client secret.",
                "type": "object",
                "required": [
                  "name",
                  "key"
                ],
                "properties": {
                  "name": {
                    "description": "Name of the Secret.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 253,
                    "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
                  },
                  "key": {
                    "description": "Name of the entry in the Secret.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 253,
                    "pattern": "^[A-Za-z0-9._-]+$"
                  }
                }
              },
              "scopes": {
                "description": "Scopes to ask for.",
                "type": "array",
                "maxItems": 16,
                "default": [],
                "x-kubernetes-list-type": "set",
                "items": {
                  "description": "One scope.",
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 128,
                  "pattern": "^[!#-\\[\\]-~]+$"
                }
              },
              "dpop": {
                "description": "Bind the token to a key of the sending pod and prove the key with every request (RFC 9449).",
                "type": "boolean",
                "default": false
              }
            }
          },
          "verification": {
            "description": "Handshake asks the endpoint with an OPTIONS request whether it wants deliveries, and how many a minute, before it gets any, as CloudEvents' web hooks have it. One that does not consent gets nothing; its deliveries are tried again by their schedule.",
            "type": "string",
            "enum": [
              "None",
              "Handshake"
            ],
            "default": "None"
          },
          "idempotencySeconds": {
            "description": "How long the recipient remembers event ids, at least. A replay of what is older could have its effect twice, so it has to be forced.",
            "type": "integer",
            "minimum": 86400,
            "maximum": 31536000,
            "default": 259200
          },
          "ackUrl": {
            "description": "Absolute URL that is told, signed like a delivery, when an event of the partner was handled by hand: the recipient's /webhooks/ack. Without it the recipient is not told.",
            "type": "string",
            "minLength": 1,
            "maxLength": 2048,
            "pattern": "^https?://[^/?#@{}]+(/[A-Za-z0-9\\-._~:/\\[\\]@!$&'()*+,;=%]*)?$"
          }
        }
      },
      "signing": {
        "description": "How deliveries prove who sent them.",
        "type": "object",
        "required": [
          "keys"
        ],
        "properties": {
          "scheme": {
            "description": "HmacV1 is HMAC-SHA256 over timestamp, method, path and body hash, in X-Signature. StandardWebhooks is version 1.0.0 of that specification, v1 by a shared key and v1a by an Ed25519 key. HttpMessageSignatures is RFC 9421 by a private key, whose public half the runtime serves.",
            "type": "string",
            "enum": [
              "HmacV1",
              "StandardWebhooks",
              "HttpMessageSignatures"
            ],
            "default": "HmacV1"
          },
          "sideBySide": {
            "description": "Sign each delivery with every key that has not ended, for recipients that know only one at a time and look at each signature; the newest key's comes first.",
            "type": "boolean",
            "default": false
          },
          "keys": {
            "description": "The first key signs; the recipient knows all of them. To rotate, put the new key first.",
            "type": "array",
            "minItems": 1,
            "maxItems": 8,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": [
              "id"
            ],
            "x-kubernetes-validations": [
              {
                "rule": "!has(self[0].notAfter)",
                "message": "the first key signs every delivery, so it has no notAfter"
              },
              {
                "rule": "self.all(a, self.exists_one(b, b.secretRef.name == a.secretRef.name && b.secretRef.key == a.secretRef.key))",
                "message": "no two keys refer to the same entry of a Secret"
              }
            ],
            "items": {
              "description": "One shared or private key.",
              "type": "object",
              "required": [
                "id",
                "secretRef"
              ],
              "properties": {
                "id": {
                  "description": "Name of the key among the partner's keys.",
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 63,
                  "pattern": "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
                },
                "secretRef": {
                  "description": "The entry of a Secret in the same namespace that holds the key. HmacV1: at least 32 bytes. StandardWebhooks: whsec_ and base64, whsk_ and base64, an Ed25519 key in PEM, or at least 32 bytes. HttpMessageSignatures: a key in PEM, of Ed25519, P-256 or P-384.",
                  "type": "object",
                  "required": [
                    "name",
                    "key"
                  ],
                  "properties": {
                    "name": {
                      "description": "Name of the Secret.",
                      "type": "string",
                      "minLength": 1,
                      "maxLength": 253,
                      "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"
                    },
                    "key": {
                      "description": "Name of the entry in the Secret.",
                      "type": "string",
                      "minLength": 1,
                      "maxLength": 253,
                      "pattern": "^[A-Za-z0-9._-]+$"
                    }
                  }
                },
                "notAfter": {
                  "description": "Time in UTC after which the recipient forgets this key.",
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 24,
                  "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,3})?Z$"
                }
              }
            }
          }
        }
      },
      "subscriptions": {
        "description": "Which events the partner receives. An event that several of them match is delivered once.",
        "type": "array",
        "minItems": 1,
        "maxItems": 64,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [
          "name"
        ],
        "items": {
          "description": "One selection of events, which match when type, tenant and producer match.",
          "type": "object",
          "required": [
            "name",
            "types",
            "tenants"
          ],
          "properties": {
            "name": {
              "description": "Name of the subscription among the partner's subscriptions.",
              "type": "string",
              "minLength": 1,
              "maxLength": 63,
              "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
            },
            "types": {
              "description": "Patterns of event types. A segment * is any one segment; a last segment ** is one or more segments.",
              "type": "array",
              "minItems": 1,
              "maxItems": 64,
              "x-kubernetes-list-type": "set",
              "items": {
                "description": "One pattern, for example payout.* or payout.**.",
                "type": "string",
                "minLength": 1,
                "maxLength": 128,
                "pattern": "^(([A-Za-z0-9_-]+|[*])[.])*([A-Za-z0-9_-]+|[*]|[*][*])$"
              }
            },
            "tenants": {
              "description": "Tenants whose events match. * is every tenant and is said explicitly; - is the events without a tenant.",
              "type": "array",
              "minItems": 1,
              "maxItems": 256,
              "x-kubernetes-list-type": "set",
              "x-kubernetes-validations": [
                {
                  "rule": "!('*' in self) || self.size() == 1",
                  "message": "* is every tenant, so it stands alone"
                }
              ],
              "items": {
                "description": "One tenant, * or -.",
                "type": "string",
                "minLength": 1,
                "maxLength": 64,
                "pattern": "^([*-]|[A-Za-z0-9_][A-Za-z0-9_-]*)$"
              }
            },
            "producers": {
              "description": "Producers whose events match; none named is every producer.",
              "type": "array",
              "maxItems": 64,
              "default": [],
              "x-kubernetes-list-type": "set",
              "items": {
                "description": "One producer, as events name it.",
                "type": "string",
                "minLength": 1,
                "maxLength": 128,
                "pattern": "^[!-~]([ -~]*[!-~])?$"
              }
            }
          }
        }
      },
      "delivery": {
        "description": "How fast deliveries go out, and how many may wait.",
        "type": "object",
        "default": {},
        "x-kubernetes-validations": [
          {
            "rule": "!has(self.burst) || has(self.ratePerSecond)",
            "fieldPath": ".burst",
            "message": "burst is for a ratePerSecond"
          }
        ],
        "properties": {
          "maxInFlight": {
            "description": "Attempts under way at once, over all pods.",
            "type": "integer",
            "minimum": 1,
            "maximum": 1024,
            "default": 64
          },
          "ratePerSecond": {
            "description": "Attempts begun in a second, retries included. Without it there is no limit.",
            "type": "integer",
            "minimum": 1,
            "maximum": 10000
          },
          "burst": {
            "description": "Attempts that may begin at once after a pause. Without it, as many as in one second.",
            "type": "integer",
            "minimum": 1,
            "maximum": 10000
          },
          "maxBacklog": {
            "description": "What may wait for the partner, retries included. A delivery beyond it is kept as a dead letter at once, with the reason backlog_full.",
            "type": "object",
            "default": {},
            "properties": {
              "messages": {
                "description": "Deliveries that may wait.",
                "type": "integer",
                "minimum": 1,
                "maximum": 10000000,
                "default": 200000
              },
              "bytes": {
                "description": "Bytes that may wait, judged by the mean size of the partner's deliveries.",
                "type": "integer",
                "minimum": 1048576,
                "maximum": 1099511627776,
                "default": 268435456
              }
            }
          }
        }
      },
      "retry": {
        "description": "When a failed delivery is tried again, and when it is given up.",
        "type": "object",
        "default": {},
        "properties": {
          "scheduleSeconds": {
            "description": "Waits after attempt 1, 2 and so on. After the last of them the delivery is tried daily until maxAgeSeconds.",
            "type": "array",
            "minItems": 1,
            "maxItems": 32,
            "default": [
              5,
              15,
              30,
              60,
              120,
              300,
              600,
              1800,
              3600,
              10800,
              21600,
              43200,
              86400
            ],
            "x-kubernetes-list-type": "atomic",
            "x-kubernetes-validations": [
              {
                "rule": "self.isSorted()",
                "message": "no wait is shorter than the one before it"
              }
            ],
            "items": {
              "description": "One wait, in seconds.",
              "type": "integer",
              "minimum": 1,
              "maximum": 604800
            }
          },
          "maxAgeSeconds": {
            "description": "Age since the event was accepted at which the delivery is dead.",
            "type": "integer",
            "minimum": 1,
            "maximum": 2592000,
            "default": 604800
          },
          "jitterPercent": {
            "description": "Upper bound of the random addition to each wait, in percent of it. Nothing is subtracted.",
            "type": "integer",
            "minimum": 0,
            "maximum": 100,
            "default": 10
          }
        }
      },
      "circuitBreaker": {
        "description": "When deliveries rest because the partner fails. While they rest, one attempt at a time probes.",
        "type": "object",
        "default": {},
        "x-kubernetes-validations": [
          {
            "rule": "!has(self.openSeconds) || !has(self.maxOpenSeconds) || self.openSeconds <= self.maxOpenSeconds",
            "fieldPath": ".maxOpenSeconds",
            "message": "maxOpenSeconds is at least openSeconds"
          }
        ],
        "properties": {
          "enabled": {
            "description": "Whether deliveries ever rest.",
            "type": "boolean",
            "default": true
          },
          "failures": {
            "description": "Failed attempts in a row after which deliveries rest.",
            "type": "integer",
            "minimum": 1,
            "maximum": 1000,
            "default": 20
          },
          "openSeconds": {
            "description": "First rest, in seconds. Each probe that fails doubles it.",
            "type": "integer",
            "minimum": 1,
            "maximum": 3600,
            "default": 30
          },
          "maxOpenSeconds": {
            "description": "Longest rest, in seconds.",
            "type": "integer",
            "minimum": 1,
            "maximum": 86400,
            "default": 600
          }
        }
      },
      "deadLetter": {
        "description": "What is kept of deliveries that ended without success.",
        "type": "object",
        "default": {},
        "properties": {
          "retainSeconds": {
            "description": "How long a dead letter is kept, in seconds; never longer than the installation keeps them. Without it, as long as the installation does.",
            "type": "integer",
            "minimum": 60,
            "maximum": 31536000
          }
        }
      },
      "networks": {
        "description": "Networks beyond the public ones that the endpoint may be in, within the installation's policy.",
        "type": "object",
        "default": {},
        "properties": {
          "allowCidrs": {
            "description": "Blocks of addresses that are allowed though they are not public.",
            "type": "array",
            "maxItems": 32,
            "default": [],
            "x-kubernetes-list-type": "set",
            "items": {
              "description": "One block, for example 10.20.0.0/16.",
              "type": "string",
              "minLength": 1,
              "maxLength": 43,
              "x-kubernetes-validations": [
                {
                  "rule": "isCIDR(self)",
                  "message": "the block is an address, a slash and the length of the prefix"
                }
              ]
            }
          },
          "allowPlaintext": {
            "description": "Whether http is allowed.",
            "type": "boolean",
            "default": false
          }
        }
      },
      "state": {
        "description": "Active sends. Paused keeps everything and sends nothing.",
        "type": "string",
        "enum": [
          "Active",
          "Paused"
        ],
        "default": "Active"
      }
    }
  }
};
