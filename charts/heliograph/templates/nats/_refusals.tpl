{{/* The servers of a store keep their number. */}}
{{- define "heliograph.nats.refuseOtherNumber" -}}
{{- $servers := int .Values.nats.replicas -}}
{{- $before := include "heliograph.nats.serversBefore" . -}}
{{- if and $before (ne (int $before) $servers) -}}
{{- fail (printf "nats.replicas cannot change from %s to %d: the new servers would not take over the stored data, and every event, delivery and dead letter would be lost. Set nats.replicas=%s. To move the data to %d servers: `heliograph nats migrate`, docs/how-to/install.md. To begin without the stored data: helm uninstall, delete the PersistentVolumeClaims data-%s-0 and so on, and install again." $before $servers $before $servers (include "heliograph.nats.name" .)) -}}
{{- end -}}
{{- end -}}

{{/*
The runtime gets the servers of another store only after `heliograph nats migrate` has named them in the record of the streams. The
Service shows which it has now.
*/}}
{{- define "heliograph.nats.refuseOtherStore" -}}
{{- $fullname := include "heliograph.fullname" . -}}
{{- with .Values.nats.migration -}}
{{- if and .replicas (eq .store (default "" $.Values.nats.store)) -}}
{{- fail (printf "nats.migration.store is %q like nats.store: the new servers need other names and volumes. Set another nats.migration.store." .store) -}}
{{- end -}}
{{- end -}}
{{- $wanted := include "heliograph.nats.component" . -}}
{{- $present := dig "spec" "selector" "app.kubernetes.io/component" $wanted (lookup "v1" "Service" .Release.Namespace (printf "%s-nats" $fullname)) -}}
{{- $record := lookup "v1" "ConfigMap" .Release.Namespace (include "heliograph.streamRecord" .) -}}
{{- $filled := dig "metadata" "annotations" "heliograph.dev/nats-servers" $present $record -}}
{{- if and (ne $wanted $present) (ne (printf "%s-%s" $fullname $wanted) $filled) -}}
{{- fail (printf "nats.store cannot change: the servers %s-%s do not hold the stored data. Set nats.store back, set nats.migration, and run `heliograph nats migrate` first (docs/how-to/install.md)." $fullname $wanted) -}}
{{- end -}}
{{- end -}}
