{{/* Arguments of the operator, as a YAML list. */}}
{{- define "heliograph.operator.args" -}}
{{- $fullname := include "heliograph.fullname" . -}}
{{- with .Values.operator -}}
- {{ printf "--namespace=%s" (toString $.Release.Namespace) | quote }}
{{- if $.Values.watch.allNamespaces }}
- --all-namespaces
{{- else }}
- {{ printf "--watch-namespaces=%s" (toString (include "heliograph.watched" $)) | quote }}
{{- end }}
{{- with $.Values.watch.selector }}
- {{ printf "--selector=%s" (toString .) | quote }}
{{- end }}
- {{ printf "--config-prefix=%s" (toString $fullname) | quote }}
- --runtime-service={{ $fullname }}-runtime
- --policy=/etc/heliograph/policy.yaml
- {{ printf "--policy-config-map=%s-policy" $fullname | quote }}
- {{ printf "--lease-seconds=%s" (toString .leaseSeconds) | quote }}
- {{ printf "--lease-renew-seconds=%s" (toString .leaseRenewSeconds) | quote }}
- {{ printf "--lease-retry-seconds=%s" (toString .leaseRetrySeconds) | quote }}
- {{ printf "--last-good-seconds=%s" (toString (int .lastGoodSeconds)) | quote }}
{{- /* Reused values of an earlier chart lack it. */}}
{{- with .prometheusRules }}
{{- $mode := .mode | default "Disabled" }}
{{- if ne $mode "Disabled" }}
- {{ printf "--prometheus-rules=%s" (lower $mode) | quote }}
{{- range $name, $value := .labels }}
- {{ printf "--prometheus-rule-label=%s=%s" $name $value | quote }}
{{- end }}
{{- end }}
{{- end }}
- {{ printf "--log-level=%s" (toString .logLevel) | quote }}
{{- end -}}
{{- end -}}
