{{/* Arguments of the runtime, as a YAML list. */}}
{{- define "heliograph.runtime.args" -}}
{{- $fullname := include "heliograph.fullname" . -}}
{{- with .Values.runtime -}}
- runtime
- --config=kubernetes
- {{ printf "--namespace=%s" (toString $.Release.Namespace) | quote }}
- {{ printf "--config-prefix=%s" (toString $fullname) | quote }}
{{- if ne (include "heliograph.streamRecord" $) (printf "%s-streams" $fullname) }}
- {{ printf "--stream-record=%s" (toString (include "heliograph.streamRecord" $)) | quote }}
{{- end }}
{{- if .configCache }}
- --config-cache=/var/cache/heliograph
{{- end }}
- --settings=/etc/heliograph/settings.yaml
{{- with .processes }}
- {{ printf "--processes=%s" (toString .) | quote }}
{{- end }}
{{- with .memory }}
- {{ printf "--memory=%s" (toString .) | quote }}
{{- end }}
- {{ printf "--unready-seconds=%s" (toString .unreadySeconds) | quote }}
- {{ printf "--drain-seconds=%s" (toString .drainSeconds) | quote }}
- {{ printf "--log-level=%s" (toString .logLevel) | quote }}
{{- with .tracing }}
{{- if .endpoint }}
- {{ printf "--otlp-endpoint=%s" (toString .endpoint) | quote }}
- {{ printf "--trace-ratio=%s" (toString .ratio) | quote }}
{{- end }}
{{- end }}
{{- end -}}
{{- end -}}
