{{/*
Refuses labels, annotations, volumes, mounts, containers and files of the values whose names the chart itself gives: Services, policies,
upgrades and programs find objects by these.
*/}}
{{- define "heliograph.refuseTakenNames" -}}
{{- $labels := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/part-of" "app.kubernetes.io/managed-by" "helm.sh/chart" "heliograph.dev/scrape" "rbac.authorization.k8s.io/aggregate-to-view" "rbac.authorization.k8s.io/aggregate-to-edit" "rbac.authorization.k8s.io/aggregate-to-admin" -}}
{{- include "heliograph.refuseKeys" (list "commonLabels" .Values.commonLabels $labels) -}}
{{- range $name, $values := .Values.monitoring -}}
{{- if kindIs "map" $values -}}
{{- include "heliograph.refuseKeys" (list (printf "monitoring.%s.labels" $name) $values.labels $labels) -}}
{{- end -}}
{{- end -}}
{{- include "heliograph.refuseKeys" (list "settingsFiles" .Values.settingsFiles (list "settings.yaml")) -}}
{{- $volumes := dict "operator" (list "policy") "runtime" (list "settings" "tls" "client-ca" "nats-tls" "nats-auth" "config-cache") "nats" (list "config" "tls" "auth" "run" "data") -}}
{{- $mounts := dict "operator" (list "/etc/heliograph") "runtime" (list "/etc/heliograph" "/etc/heliograph-tls" "/etc/heliograph-client-ca" "/etc/nats-tls" "/etc/nats-auth" "/var/cache/heliograph") "nats" (list "/etc/nats" "/etc/nats-tls" "/etc/nats-auth" "/var/run/nats" "/data") -}}
{{- $containers := dict "operator" (list "operator") "runtime" (list "runtime") "nats" (list "nats" "check-store" "monitor") -}}
{{- range $part, $values := pick .Values "operator" "runtime" "nats" -}}
{{- include "heliograph.refuseKeys" (list (printf "%s.podLabels" $part) $values.podLabels $labels) -}}
{{- include "heliograph.refuseKeys" (list (printf "%s.podAnnotations" $part) $values.podAnnotations (list "checksum/settings" "checksum/config")) -}}
{{- include "heliograph.refuseEntries" (list (printf "%s.extraVolumes" $part) "name" $values.extraVolumes (get $volumes $part)) -}}
{{- include "heliograph.refuseEntries" (list (printf "%s.extraVolumeMounts" $part) "mountPath" $values.extraVolumeMounts (get $mounts $part)) -}}
{{- $both := concat (default list $values.extraContainers) (default list $values.extraInitContainers) -}}
{{- include "heliograph.refuseEntries" (list (printf "%s.extraContainers and %s.extraInitContainers" $part $part) "name" $both (get $containers $part)) -}}
{{- end -}}
{{- end -}}

{{/* (list value map taken) */}}
{{- define "heliograph.refuseKeys" -}}
{{- $taken := index . 2 -}}
{{- range $key, $_ := default dict (index . 1) -}}
{{- if has $key $taken -}}
{{- fail (printf "%s has %s, which the chart sets: remove it." (index $ 0) $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* (list value field entries taken) */}}
{{- define "heliograph.refuseEntries" -}}
{{- $field := index . 1 -}}
{{- $taken := index . 3 -}}
{{- range default list (index . 2) -}}
{{- $name := get . $field -}}
{{- if has $name $taken -}}
{{- fail (printf "%s has %s, which already exists: use another %s." (index $ 0) $name $field) -}}
{{- end -}}
{{- $taken = append $taken $name -}}
{{- end -}}
{{- end -}}
