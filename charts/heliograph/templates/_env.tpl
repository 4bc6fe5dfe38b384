{{/*
Variables of a container: (list value own given). A given variable takes the place of the chart's own of the same name, so that no name
is there twice.
*/}}
{{- define "heliograph.env" -}}
{{- $value := index . 0 -}}
{{- $own := index . 1 | fromYamlArray -}}
{{- $given := dict -}}
{{- $rest := list -}}
{{- range default list (index . 2) -}}
{{- if or (hasKey $given .name) (has .name (list "POD_NAME" "HELIOGRAPH_POD_NAME")) -}}
{{- fail (printf "%s has %s, which is already set: remove it." $value .name) -}}
{{- end -}}
{{- $_ := set $given .name . -}}
{{- end -}}
{{- $all := list -}}
{{- range $own -}}
{{- $all = append $all (get $given .name | default .) -}}
{{- end -}}
{{- range default list (index . 2) -}}
{{- $name := .name -}}
{{- $isOwn := false -}}
{{- range $own -}}{{- if eq .name $name -}}{{- $isOwn = true -}}{{- end -}}{{- end -}}
{{- if not $isOwn -}}{{- $all = append $all . -}}{{- end -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}

{{- define "heliograph.operator.env" -}}
# Bounds the memory that garbage holds: docs/reference/operator.md, "Memory".
- {name: NODE_OPTIONS, value: --max-semi-space-size=4}
- {name: MALLOC_ARENA_MAX, value: "1"}
{{- end -}}

{{- define "heliograph.runtime.env" -}}
- name: HELIOGRAPH_POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: HELIOGRAPH_NATS
  value: {{ ternary (printf "tls://%s-nats.%s.svc:4222" (include "heliograph.fullname" .) .Release.Namespace) .Values.externalNats.url .Values.nats.enabled | quote }}
{{- /* Variables and not arguments, so that `heliograph debug bundle` in the container has them too. */}}
{{- if include "heliograph.nats.authSecret" . }}
- {name: HELIOGRAPH_NATS_AUTH, value: /etc/nats-auth}
{{- end }}
{{- if include "heliograph.nats.tlsSecret" . }}
- {name: HELIOGRAPH_NATS_CA, value: /etc/nats-tls/ca.crt}
{{- if and (not .Values.nats.enabled) .Values.externalNats.clientCertificate }}
- {name: HELIOGRAPH_NATS_CERT, value: /etc/nats-tls/tls.crt}
- {name: HELIOGRAPH_NATS_KEY, value: /etc/nats-tls/tls.key}
{{- end }}
{{- end }}
{{- end -}}

{{- define "heliograph.nats.env" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- with include "heliograph.nats.goMemoryLimit" $ }}
- {name: GOMEMLIMIT, value: {{ . | quote }}}
{{- end }}
{{- end -}}
