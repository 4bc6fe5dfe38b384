{{/* Volume that the StatefulSet of a store has, as JSON; empty without a StatefulSet, or where the chart is rendered without a cluster. */}}
{{- define "heliograph.nats.presentVolume" -}}
{{- with lookup "apps/v1" "StatefulSet" .Release.Namespace (include "heliograph.nats.name" .) -}}
{{- $size := $.Values.nats.persistence.size -}}
{{- $claim := first (default list .spec.volumeClaimTemplates) -}}
{{- if $claim -}}
{{- $metadata := default dict $claim.metadata -}}
{{- $spec := $claim.spec -}}
{{- dict "enabled" true "size" $spec.resources.requests.storage "storageClass" (default "" $spec.storageClassName) "annotations" (default dict $metadata.annotations) | toJson -}}
{{- else -}}
{{- dict "enabled" false "size" $size "storageClass" "" "annotations" dict | toJson -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Volume of a store by the values, as JSON. */}}
{{- define "heliograph.nats.wantedVolume" -}}
{{- with .Values.nats.persistence -}}
{{- dict "enabled" .enabled "size" .size "storageClass" (default "" .storageClass) "annotations" (default dict .annotations) | toJson -}}
{{- end -}}
{{- end -}}

{{/* Volume of a store, as JSON. While a migration fills servers with other volumes, the present ones keep theirs. */}}
{{- define "heliograph.nats.volume" -}}
{{- $present := include "heliograph.nats.presentVolume" . -}}
{{- if and $present (include "heliograph.nats.isMigrating" .) -}}
{{- $present -}}
{{- else -}}
{{- include "heliograph.nats.wantedVolume" . -}}
{{- end -}}
{{- end -}}

{{/* Bytes of the smallest volume that the servers of a store have; empty when none is bound, or without a cluster. */}}
{{- define "heliograph.nats.boundBytes" -}}
{{- $smallest := dict -}}
{{- if .Values.nats.persistence.enabled -}}
{{- range $index := until (int .Values.nats.replicas) -}}
{{- $claim := printf "data-%s-%d" (include "heliograph.nats.name" $) $index -}}
{{- with dig "status" "capacity" "storage" "" (lookup "v1" "PersistentVolumeClaim" $.Release.Namespace $claim) -}}
{{- $bytes := include "heliograph.bytes" (list (printf "the capacity of %s" $claim) .) | int64 -}}
{{- if or (not $smallest) (lt $bytes (int64 (get $smallest "bytes"))) -}}{{- $_ := set $smallest "bytes" $bytes -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with get $smallest "bytes" -}}{{ int64 . }}{{- end -}}
{{- end -}}

{{/* Refuses values that Kubernetes would refuse for the StatefulSet, after it had applied the larger bound on files. */}}
{{- define "heliograph.nats.refuseOtherVolume" -}}
{{- $name := include "heliograph.nats.name" . -}}
{{- $wanted := include "heliograph.nats.volume" . | fromJson -}}
{{- $present := include "heliograph.nats.presentVolume" . | default (toJson $wanted) | fromJson -}}
{{- $move := "Nothing was applied. Set it back. To move the data to other volumes, set it together with nats.migration and run `heliograph nats migrate` (docs/how-to/install.md)." -}}
{{- if ne $wanted.enabled $present.enabled -}}
{{- fail (printf "nats.persistence.enabled cannot change from %t to %t in an upgrade: Kubernetes does not change the volumes of the StatefulSet %s. %s" $present.enabled $wanted.enabled $name $move) -}}
{{- end -}}
{{- if $wanted.enabled -}}
{{- range $field := list "storageClass" "annotations" -}}
{{- if ne (get $wanted $field | toJson) (get $present $field | toJson) -}}
{{- fail (printf "nats.persistence.%s cannot change from %s to %s in an upgrade: Kubernetes does not change the volumes of the StatefulSet %s. %s" $field (get $present $field | toJson) (get $wanted $field | toJson) $name $move) -}}
{{- end -}}
{{- end -}}
{{- $size := include "heliograph.bytes" (list "nats.persistence.size" $wanted.size) | int64 -}}
{{- $before := include "heliograph.bytes" (list "nats.persistence.size" $present.size) | int64 -}}
{{- if lt $size $before -}}
{{- fail (printf "nats.persistence.size cannot change from %s to %s in an upgrade: no volume shrinks. %s" $present.size $wanted.size $move) -}}
{{- end -}}
{{- include "heliograph.nats.refuseSmallVolume" (list . $wanted.size $size (gt $size $before)) -}}
{{- end -}}
{{- end -}}

{{/* Prints how volumes grow when they are smaller than wanted, or their StatefulSet says so: (list root size bytes isGrowing). */}}
{{- define "heliograph.nats.refuseSmallVolume" -}}
{{- $root := index . 0 -}}
{{- $size := index . 1 -}}
{{- $name := include "heliograph.nats.name" $root -}}
{{- $bound := include "heliograph.nats.boundBytes" $root -}}
{{- $isSmall := and $bound (lt (int64 (default 0 $bound)) (int64 (index . 2))) -}}
{{- if or $isSmall (index . 3) -}}
{{- $kubectl := printf "kubectl --namespace %s" $root.Release.Namespace -}}
{{- $steps := list -}}
{{- range $index := until (int $root.Values.nats.replicas) -}}
{{- $claim := printf "data-%s-%d" $name $index -}}
{{- if $isSmall -}}
{{- $steps = append $steps (printf "  %s patch pvc %s --patch='{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"%s\"}}}}'" $kubectl $claim $size) -}}
{{- $steps = append $steps (printf "  %s wait pvc/%s --for=jsonpath='{.status.capacity.storage}'=%s --timeout=10m" $kubectl $claim $size) -}}
{{- end -}}
{{- end -}}
{{- if index . 3 -}}
{{- $steps = append $steps (printf "  %s delete statefulset %s --cascade=orphan" $kubectl $name) -}}
{{- end -}}
{{- fail (printf "nats.persistence.size is %s, but the volumes of %s were made with another size, and an upgrade does not change them. Nothing was applied. Where the storage class permits it, grow them, and then run this upgrade again (docs/runbooks/nats-volume-full.md):\n%s\n" $size $name (join "\n" $steps)) -}}
{{- end -}}
{{- end -}}
