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
  resources: [webhookpartners, metriccatalogs, queryclassquotas, eventcatalogs]
  verbs: [list, watch]
- apiGroups: [heliograph.dev]
  resources: [webhookpartners/status, metriccatalogs/status, queryclassquotas/status, eventcatalogs/status]
  verbs: [patch]
# Watched without their data; the data is read only of those that a resource names.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- if ne (dig "prometheusRules" "mode" "" .Values.operator | default "Disabled") "Disabled" }}
- apiGroups: [monitoring.coreos.com]
  resources: [prometheusrules]
  verbs: [get, list, watch, create, update, delete]
{{- end }}
{{- end -}}

{{/*
Watched namespaces that an upgrade finds missing or about to go, as a comma-separated list: an object in them would fail the upgrade.
Empty where the chart is rendered without a cluster, and at the first installation.
*/}}
{{- define "heliograph.missingNamespaces" -}}
{{- if and (not .Values.watch.allNamespaces) (lookup "v1" "ConfigMap" .Release.Namespace (printf "%s-policy" (include "heliograph.fullname" .))) -}}
{{- $missing := list -}}
{{- range $namespace := without (splitList "," (include "heliograph.watched" .)) .Release.Namespace -}}
{{- $found := lookup "v1" "Namespace" "" $namespace -}}
{{- if or (not $found) (eq "Terminating" (dig "status" "phase" "" (default dict $found))) -}}
{{- $missing = append $missing $namespace -}}
{{- end -}}
{{- end -}}
{{- join "," $missing -}}
{{- end -}}
{{- end -}}
