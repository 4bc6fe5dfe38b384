{{/*
Refuses names that differ from those of the running workloads, or of the servers that the record of the streams belongs to. Such an
upgrade would start an empty NATS, or fail on a selector after half of the objects were applied. The label helm.sh/chart tells
installations of one release apart, where another chart contains this one twice.
*/}}
{{- define "heliograph.refuseOtherNames" -}}
{{- $root := . -}}
{{- $name := include "heliograph.name" . -}}
{{- $fullname := include "heliograph.fullname" . -}}
{{- $chart := printf "^%s-[0-9]+[.]" .Chart.Name -}}
{{- range $kind := list "StatefulSet" "Deployment" -}}
{{- range $one := (lookup "apps/v1" $kind $root.Release.Namespace "").items -}}
{{- $labels := default dict $one.metadata.labels -}}
{{- $component := get $labels "app.kubernetes.io/component" -}}
{{- $isOwn := and (eq (get $labels "app.kubernetes.io/instance") $root.Release.Name) (eq (get $labels "app.kubernetes.io/part-of") "heliograph") (regexMatch $chart (get $labels "helm.sh/chart")) -}}
{{- if and $isOwn (regexMatch "^(operator|runtime|nats(-.+)?)$" $component) -}}
{{- $before := dig "spec" "selector" "matchLabels" "app.kubernetes.io/name" "" $one -}}
{{- if or (ne $one.metadata.name (printf "%s-%s" $fullname $component)) (ne $name $before) -}}
{{- include "heliograph.failOtherNames" (list $root $before (trimSuffix (printf "-%s" $component) $one.metadata.name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $record := lookup "v1" "ConfigMap" .Release.Namespace (include "heliograph.streamRecord" .) -}}
{{- $before := dig "metadata" "annotations" "heliograph.dev/name" $fullname $record -}}
{{- if and $record.data (ne $fullname $before) -}}
{{- include "heliograph.failOtherNames" (list . $name $before) -}}
{{- end -}}
{{- range $stream, $_ := default dict $record.data -}}
{{- $prefix := dig "streams" "prefix" "hg" $root.Values.settings | upper -}}
{{- if not (hasPrefix (printf "%s_" $prefix) $stream) -}}
{{- fail (printf "settings.streams.prefix cannot change to %s: the accepted events are in %s, and the installation would begin with empty streams. Set it back." (lower $prefix) $stream) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* (list root name fullname), the latter two as they were. */}}
{{- define "heliograph.failOtherNames" -}}
{{- $root := index . 0 -}}
{{- fail (printf "nameOverride and fullnameOverride cannot change: the objects of this release begin with %s and its pods are labelled %s, and with %s and %s it would begin with an empty NATS, without its accepted events. Nothing was applied. Set nameOverride=%s and fullnameOverride=%s. To begin without the stored data, uninstall, delete the ConfigMap %s, and install again." (index . 2) (index . 1) (include "heliograph.fullname" $root) (include "heliograph.name" $root) (index . 1) (index . 2) (include "heliograph.streamRecord" $root)) -}}
{{- end -}}
