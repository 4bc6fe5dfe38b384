{{/* Refuses values with which a program does not start, a pod is not made, or an object has no effect. One sentence each. */}}
{{- define "heliograph.refuseUnrunnable" -}}
{{- include "heliograph.refuseRuntimeValues" . -}}
{{- range $path, $resources := dict "operator.resources" .Values.operator.resources "runtime.resources" .Values.runtime.resources "nats.resources" .Values.nats.resources "nats.monitor.resources" (default dict .Values.nats.monitor).resources "tests.resources" .Values.tests.resources -}}
{{- range $name, $limit := (default dict $resources).limits -}}
{{- $request := dig "requests" $name "" (default dict $resources) -}}
{{- if and (include "heliograph.isQuantity" $limit) (include "heliograph.isQuantity" $request) -}}
{{- if gt (include "heliograph.thousandths" $request | int64) (include "heliograph.thousandths" $limit | int64) -}}
{{- fail (printf "%s.requests.%s is %s and %s.limits.%s is %s: a request cannot exceed its limit. Raise the limit, or lower the request." $path $name (toString $request) $path $name (toString $limit)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.operator -}}
{{- if not (and (gt (int .leaseSeconds) (int .leaseRenewSeconds)) (gt (int .leaseRenewSeconds) (int .leaseRetrySeconds))) -}}
{{- fail (printf "operator.leaseSeconds is %d, leaseRenewSeconds %d and leaseRetrySeconds %d: each must be more than the next, so that a leader renews its Lease in time." (int .leaseSeconds) (int .leaseRenewSeconds) (int .leaseRetrySeconds)) -}}
{{- end -}}
{{- end -}}
{{- $key := "([-a-z0-9.]+/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?" -}}
{{- $value := "([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?" -}}
{{- $one := printf " *(!? *%s|%s *(=|==|!=) *%s|%s +(in|notin) +[(] *%s *(, *%s *)*[)]|%s *[<>] *[0-9]+) *" $key $key $value $key $value $value $key -}}
{{- if and .Values.watch.selector (not (regexMatch (printf "^%s(,%s)*$" $one $one) .Values.watch.selector)) -}}
{{- fail (printf "watch.selector is %q, which is not a label selector: write one such as team=shop,tier in (one,two)." .Values.watch.selector) -}}
{{- end -}}
{{- if .Values.nats.enabled -}}{{- include "heliograph.refuseLargeStreams" . -}}{{- end -}}
{{- if and (not .Values.nats.enabled) .Values.externalNats.clientCertificate (not .Values.externalNats.tlsSecret) -}}
{{- fail "externalNats.clientCertificate needs the Secret with the certificate: set externalNats.tlsSecret." -}}
{{- end -}}
{{- if and .Values.certManager.enabled (not .Values.certManager.issuerRef.name) -}}
{{- fail "certManager.enabled needs an issuer: set certManager.issuerRef.name." -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.enabled needs a Gateway: name it in httpRoute.parentRefs." -}}
{{- end -}}
{{- include "heliograph.refuseServices" . -}}
{{- end -}}

{{- define "heliograph.refuseRuntimeValues" -}}
{{- with .Values.runtime -}}
{{- $limit := dig "limits" "memory" "" (default dict .resources) -}}
{{- $memory := default "auto" .memory -}}
{{- if and (ne $memory "auto") (include "heliograph.isQuantity" $limit) -}}
{{- if gt (include "heliograph.bytes" (list "runtime.memory" $memory) | int64) (include "heliograph.bytes" (list "runtime.resources.limits.memory" $limit) | int64) -}}
{{- fail (printf "runtime.memory is %s and runtime.resources.limits.memory is %s: a pod would be killed before it uses its memory. Raise the limit, or lower runtime.memory." $memory (toString $limit)) -}}
{{- end -}}
{{- end -}}
{{- with .autoscaling -}}
{{- if or .enabled .keda.enabled -}}
{{- if gt (int .minReplicas) (int .maxReplicas) -}}
{{- fail (printf "runtime.autoscaling.minReplicas is %d and maxReplicas is %d: the minimum cannot exceed the maximum." (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- if not (dig "requests" "cpu" "" (default dict $.Values.runtime.resources)) -}}
{{- fail "runtime.autoscaling scales by CPU use in percent of the request: set runtime.resources.requests.cpu." -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Sizes of the streams by the settings, against what the servers may store. Defaults are those of the settings. */}}
{{- define "heliograph.refuseLargeStreams" -}}
{{- $streams := default dict .Values.settings.streams -}}
{{- $bound := include "heliograph.nats.fileStore" . | int64 -}}
{{- $sum := 0 -}}
{{- range $name, $standard := dict "events" 2147483648 "deliveries" 2147483648 "attempts" 1073741824 "deadLetters" 1073741824 -}}
{{- $sum = add $sum (dig $name "maxBytes" $standard $streams | int64) -}}
{{- end -}}
{{- $copies := int (dig "replicas" 1 $streams) -}}
{{- if gt (mul $sum $copies) (mul $bound (int .Values.nats.replicas)) -}}
{{- fail (printf "settings.streams can hold up to %d bytes in %d replicas, but the %d servers can store %d bytes each: lower settings.streams.*.maxBytes, or raise nats.persistence.size or nats.maxFileStore." $sum $copies (int .Values.nats.replicas) $bound) -}}
{{- end -}}
{{- end -}}

{{/* Fields of Services that Kubernetes refuses together, or never changes. */}}
{{- define "heliograph.refuseServices" -}}
{{- with .Values.runtime.service -}}
{{- if and .loadBalancerClass (ne .type "LoadBalancer") -}}
{{- fail (printf "runtime.service.loadBalancerClass requires runtime.service.type=LoadBalancer, but the type is %s." .type) -}}
{{- end -}}
{{- if and .externalTrafficPolicy (eq .type "ClusterIP") -}}
{{- fail "runtime.service.externalTrafficPolicy requires runtime.service.type=LoadBalancer or NodePort, but the type is ClusterIP." -}}
{{- end -}}
{{- end -}}
{{- $fullname := include "heliograph.fullname" . -}}
{{- $live := lookup "v1" "Service" .Release.Namespace $fullname -}}
{{- $class := dig "spec" "loadBalancerClass" "" $live -}}
{{- if and (eq (dig "spec" "type" "" $live) "LoadBalancer") (eq .Values.runtime.service.type "LoadBalancer") (ne $class (default "" .Values.runtime.service.loadBalancerClass)) -}}
{{- fail (printf "runtime.service.loadBalancerClass cannot change from %q to %q in an upgrade: Kubernetes keeps it while the type is LoadBalancer. Nothing was applied. Set it back, or delete the Service %s first." $class (default "" .Values.runtime.service.loadBalancerClass) $fullname) -}}
{{- end -}}
{{- $families := (default dict .Values.services).ipFamilies -}}
{{- $present := dig "spec" "ipFamilies" list $live -}}
{{- if and $families $present (ne (first $families) (first $present)) -}}
{{- fail (printf "services.ipFamilies cannot begin with %s in an upgrade: Kubernetes keeps %s, the first family of the existing Services. Nothing was applied. Put %s first." (first $families) (first $present) (first $present)) -}}
{{- end -}}
{{- end -}}

{{- define "heliograph.isQuantity" -}}
{{- if regexMatch "^[0-9]+([.][0-9]+)?(m|k|Ki|Mi|M|Gi|G|Ti|T)?$" (toString .) -}}yes{{- end -}}
{{- end -}}

{{/* Thousandths of a quantity. */}}
{{- define "heliograph.thousandths" -}}
{{- $text := toString . -}}
{{- if hasSuffix "m" $text -}}
{{- trimSuffix "m" $text | float64 | floor | int64 -}}
{{- else if regexMatch "^[0-9.]+$" $text -}}
{{- mulf $text 1000 | floor | int64 -}}
{{- else -}}
{{- mul (include "heliograph.bytes" (list "the quantity" $text) | int64) 1000 -}}
{{- end -}}
{{- end -}}
