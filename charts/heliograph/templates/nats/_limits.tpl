{{/* Bytes of a quantity: (list name value). */}}
{{- define "heliograph.bytes" -}}
{{- $value := index . 1 -}}
{{- if kindIs "string" $value -}}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?" $value -}}
{{- $unit := trimPrefix $number $value -}}
{{- $factors := dict "" 1 "k" 1000 "Ki" 1024 "M" 1000000 "Mi" 1048576 "G" 1000000000 "Gi" 1073741824 "T" 1000000000000 "Ti" 1099511627776 -}}
{{- if or (not $number) (not (hasKey $factors $unit)) -}}
{{- fail (printf "%s is %s: write it as a number of bytes with Ki, Mi, Gi or Ti, such as 1Gi." (index . 0) $value) -}}
{{- end -}}
{{- mulf $number (get $factors $unit) | floor | int64 -}}
{{- else -}}
{{- int64 $value -}}
{{- end -}}
{{- end -}}

{{/* Memory limit of nats-server in bytes; empty without one. */}}
{{- define "heliograph.nats.memoryLimit" -}}
{{- $limit := dig "limits" "memory" "" (default dict .Values.nats.resources) -}}
{{- if $limit -}}{{ include "heliograph.bytes" (list "nats.resources.limits.memory" $limit) }}{{- end -}}
{{- end -}}

{{/*
Bound on JetStream's files in bytes. A file grows past the bound before its oldest block goes. The bound follows the volumes that there
are, and without a cluster the values.
*/}}
{{- define "heliograph.nats.fileStore" -}}
{{- $wanted := (include "heliograph.nats.volume" . | fromJson).size -}}
{{- $bound := include "heliograph.nats.boundBytes" . -}}
{{- $volume := $bound | default (include "heliograph.bytes" (list "nats.persistence.size" $wanted)) | int64 -}}
{{- $size := ternary (printf "the volume has %s bytes" $bound) (printf "nats.persistence.size is %s" (toString $wanted)) (ne $bound "") -}}
{{- with .Values.nats.maxFileStore -}}
{{- $bytes := include "heliograph.bytes" (list "nats.maxFileStore" .) | int64 -}}
{{- if gt (mul $bytes 11) (mul $volume 10) -}}
{{- fail (printf "nats.maxFileStore is %s and %s: the volume must hold JetStream's files and a tenth more. Leave nats.maxFileStore empty for four fifths of the volume, or request a larger volume." (toString .) $size) -}}
{{- end -}}
{{- $bytes -}}
{{- else -}}
{{- div (mul $volume 4) 5 -}}
{{- end -}}
{{- end -}}

{{/* Bound on JetStream's messages in memory, in bytes. */}}
{{- define "heliograph.nats.memoryStore" -}}
{{- $limit := include "heliograph.nats.memoryLimit" . -}}
{{- with .Values.nats.maxMemoryStore -}}
{{- $bytes := include "heliograph.bytes" (list "nats.maxMemoryStore" .) | int64 -}}
{{- if and $limit (gt (mul $bytes 2) (int64 $limit)) -}}
{{- fail (printf "nats.maxMemoryStore is %s and nats.resources.limits.memory is %s: the store may take half of the limit. Leave nats.maxMemoryStore empty for a quarter of the limit, or raise the limit." (toString .) (toString $.Values.nats.resources.limits.memory)) -}}
{{- end -}}
{{- $bytes -}}
{{- else -}}
{{- ternary (div (int64 (default 0 $limit)) 4) 268435456 (ne $limit "") -}}
{{- end -}}
{{- end -}}

{{/* Heap size at which Go collects more often, in bytes: nine tenths of the limit. Empty without a limit. */}}
{{- define "heliograph.nats.goMemoryLimit" -}}
{{- with include "heliograph.nats.memoryLimit" . -}}{{ div (mul (int64 .) 9) 10 }}{{- end -}}
{{- end -}}
