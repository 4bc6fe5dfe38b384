{{/* Names of the Secrets that hold the configuration, as a YAML list: 32 of resources and 8 of keys, as operator and runtime have it. */}}
{{- define "heliograph.shardNames" -}}
{{- $fullname := include "heliograph.fullname" . -}}
{{- range $index := until 32 }}
- {{ printf "%s-config-%02d" $fullname $index }}
{{- end }}
{{- range $index := until 8 }}
- {{ printf "%s-keys-%02d" $fullname $index }}
{{- end }}
{{- end -}}

{{/* Rights of the operator in watched namespaces: it reads resources and the Secrets that they name, and writes statuses and events. */}}
{{- define "heliograph.resourceRules" -}}
- apiGroups: [heliograph.dev]
  resources: [webhookpartners, metriccatalogs, queryclassquotas]
  verbs: [list, watch]
- apiGroups: [heliograph.dev]
  resources: [webhookpartners/status, metriccatalogs/status, queryclassquotas/status]
  verbs: [patch]
# Watched without their data; the data is read only of those that a resource names.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}
