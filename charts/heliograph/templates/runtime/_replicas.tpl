{{/*
Pods of the runtime. A migration has none. An autoscaler owns the number, so the chart renders the present one: without it, the API
server would set 1 when the autoscaler is turned on, and an upgrade that turns it off would end most pods at once. Empty where an
autoscaler owns it and the chart is rendered without a cluster.
*/}}
{{- define "heliograph.runtime.replicas" -}}
{{- $deployment := lookup "apps/v1" "Deployment" .Release.Namespace (printf "%s-runtime" (include "heliograph.fullname" .)) -}}
{{- $present := dig "spec" "replicas" 0 $deployment | int -}}
{{- $autoscaling := .Values.runtime.autoscaling -}}
{{- if include "heliograph.nats.isMigrating" . -}}
0
{{- else if or $autoscaling.enabled $autoscaling.keda.enabled -}}
{{- if $deployment -}}{{ max $present (int $autoscaling.minReplicas) }}{{- end -}}
{{- else if include "heliograph.runtime.hasAutoscaler" . -}}
{{ max $present (int .Values.runtime.replicas) }}
{{- else -}}
{{ int .Values.runtime.replicas }}
{{- end -}}
{{- end -}}

{{/* Not empty while an autoscaler has the runtime as its target: one of the chart, of KEDA, or of the user. */}}
{{- define "heliograph.runtime.hasAutoscaler" -}}
{{- $name := printf "%s-runtime" (include "heliograph.fullname" .) -}}
{{- range (lookup "autoscaling/v2" "HorizontalPodAutoscaler" .Release.Namespace "").items -}}
{{- if and (eq .spec.scaleTargetRef.kind "Deployment") (eq .spec.scaleTargetRef.name $name) -}}scaled{{- end -}}
{{- end -}}
{{- end -}}
