{{- define "heliograph.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* First part of every name, of the shards and of the Lease. */}}
{{- define "heliograph.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "heliograph.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "heliograph.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name that an installation has without overrides. No value changes it. */}}
{{- define "heliograph.ownName" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/*
Name of the record of the streams. It stays when nameOverride or fullnameOverride changes, so that a NATS of another name is not taken
for the one that is recorded. A record that an older chart made under another name stays in use.
*/}}
{{- define "heliograph.streamRecord" -}}
{{- $name := printf "%s-streams" (include "heliograph.ownName" .) -}}
{{- $earlier := printf "%s-streams" (include "heliograph.fullname" .) -}}
{{- $object := lookup "v1" "ConfigMap" .Release.Namespace $earlier -}}
{{- $isOwn := eq .Release.Name (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $object) -}}
{{- if and (ne $name $earlier) $isOwn (not (lookup "v1" "ConfigMap" .Release.Namespace $name)) -}}
{{- $earlier -}}
{{- else -}}
{{- $name -}}
{{- end -}}
{{- end -}}

{{/* Labels of every object. */}}
{{- define "heliograph.labels" -}}
{{- include "heliograph.labelsWith" (list . dict) -}}
{{- end -}}

{{/* The same with labels of one value, which win over those for all objects: (list root labels). */}}
{{- define "heliograph.labelsWith" -}}
{{- $root := index . 0 -}}
{{- $chart := printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" -}}
{{- $own := dict "helm.sh/chart" $chart "app.kubernetes.io/part-of" "heliograph" "app.kubernetes.io/managed-by" $root.Release.Service "app.kubernetes.io/version" $root.Chart.AppVersion -}}
{{- range $more := list $root.Values.commonLabels (index . 1) -}}
{{- range $name, $value := default dict $more -}}{{- $_ := set $own $name $value -}}{{- end -}}
{{- end -}}
{{- toYaml $own -}}
{{- end -}}

{{/* Labels by which the pods of one part are selected: (list root part). */}}
{{- define "heliograph.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "heliograph.name" $root | quote }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ ternary (include "heliograph.nats.component" $root) (index . 1) (eq (index . 1) "nats") | quote }}
{{- end -}}

{{/* Component of the NATS servers: `nats`, with the suffix of the store that a migration made. */}}
{{- define "heliograph.nats.component" -}}
nats{{ with .Values.nats.store }}-{{ . }}{{ end }}
{{- end -}}

{{/* Name of the NATS servers, and first part of the names of their volumes. */}}
{{- define "heliograph.nats.name" -}}
{{ include "heliograph.fullname" . }}-{{ include "heliograph.nats.component" . }}
{{- end -}}

{{/* Not empty while `heliograph nats migrate` copies the streams: no pod of the runtime may change them then. */}}
{{- define "heliograph.nats.isMigrating" -}}
{{- if and .Values.nats.enabled .Values.nats.migration -}}
{{- if .Values.nats.migration.replicas -}}migrating{{- end -}}
{{- end -}}
{{- end -}}

{{/* Renders a template for the servers of `nats`, then for those of `nats.migration`: (list root template). */}}
{{- define "heliograph.nats.eachStore" -}}
{{- $root := index . 0 -}}
{{- $template := index . 1 -}}
{{- include $template $root }}
{{- with $root.Values.nats.migration }}
{{- if .replicas }}
---
{{- $values := mergeOverwrite (deepCopy $root.Values) (dict "nats" (pick . "replicas" "store")) }}
{{ include $template (mergeOverwrite (dict) (omit $root "Values") (dict "Values" $values)) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "heliograph.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}
{{- end -}}

{{/* Placement of a pod, from the values of its part. */}}
{{- define "heliograph.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- with .hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Name of the service account of a part: (list root part). */}}
{{- define "heliograph.serviceAccount" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{- $own := ternary (include "heliograph.nats.name" $root) (printf "%s-%s" (include "heliograph.fullname" $root) $part) (eq $part "nats") -}}
{{- default $own (get (get $root.Values $part) "serviceAccountName") -}}
{{- end -}}

{{/* First part of names of the cluster. No namespace or name has a colon, so those of two installations differ. */}}
{{- define "heliograph.clusterName" -}}
{{ .Release.Namespace }}:{{ include "heliograph.fullname" . }}
{{- end -}}

{{/* IP families of a Service. */}}
{{- define "heliograph.ipFamilies" -}}
{{- with .Values.services -}}
{{- with .ipFamilyPolicy }}
ipFamilyPolicy: {{ . | quote }}
{{- end }}
{{- with .ipFamilies }}
ipFamilies: {{ toJson . }}
{{- end }}
{{- end -}}
{{- end -}}

{{/*
Arguments of a program: (list own given), where own is a YAML list. A given flag takes the place of the chart's own of the same name.
*/}}
{{- define "heliograph.args" -}}
{{- $given := default list (index . 1) -}}
{{- $flags := list -}}
{{- range $given -}}{{- $flags = append $flags (splitList "=" . | first) -}}{{- end -}}
{{- $all := list -}}
{{- range index . 0 | fromYamlArray -}}
{{- if not (has (splitList "=" . | first) $flags) -}}{{- $all = append $all . -}}{{- end -}}
{{- end -}}
{{- toYaml (concat $all $given) -}}
{{- end -}}

{{/* Probes of a container: (list own values), where own is YAML. Values change times and numbers of failures. */}}
{{- define "heliograph.probes" -}}
{{- $own := index . 0 | fromYaml -}}
{{- range $name := list "startupProbe" "livenessProbe" "readinessProbe" -}}
{{- $_ := set $own $name (mergeOverwrite (get $own $name) (default dict (get (index $ 1) $name))) -}}
{{- end -}}
{{- toYaml $own -}}
{{- end -}}

{{/* Keeps pods of a part apart where there is more than one host: (list root part affinity). */}}
{{- define "heliograph.affinity" -}}
{{- $affinity := index . 2 -}}
affinity:
  {{- if $affinity }}
  {{- toYaml $affinity | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "heliograph.selector" (list (index . 0) (index . 1)) | nindent 14 }}
  {{- end }}
{{- end -}}

{{/* Secret of the pods' own certificate; empty where values of an older chart are used again, or there is none. */}}
{{- define "heliograph.tlsSecret" -}}
{{- with .Values.runtime.tls -}}{{ .secret }}{{- end -}}
{{- end -}}

{{/* Scheme of the API's URLs. */}}
{{- define "heliograph.apiScheme" -}}
{{ ternary "http" "https" (empty (include "heliograph.tlsSecret" .)) }}
{{- end -}}

{{/* URL of the API inside the cluster. */}}
{{- define "heliograph.apiUrl" -}}
{{ include "heliograph.apiScheme" . }}://{{ include "heliograph.fullname" . }}:{{ .Values.runtime.service.port }}
{{- end -}}

{{/*
Security context of a pod, and whether it shares the users of its host. The fallback is for the values of a release that did not have
these, which an upgrade with --reuse-values brings.
*/}}
{{- define "heliograph.podSecurity" -}}
{{- $user := dict "runAsNonRoot" true "runAsUser" 65532 "runAsGroup" 65532 "fsGroup" 65532 -}}
{{- $restricted := merge $user (dict "fsGroupChangePolicy" "OnRootMismatch" "seccompProfile" (dict "type" "RuntimeDefault")) -}}
{{- if eq (toString .Values.hostUsers) "false" -}}
hostUsers: false
{{ end -}}
securityContext:
  {{- toYaml (default $restricted .Values.podSecurityContext) | nindent 2 }}
{{- end -}}

{{/* Security context of a container, with the same fallback, and where its last words are found. */}}
{{- define "heliograph.containerSecurity" -}}
{{- $closed := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true -}}
{{- $restricted := merge $closed (dict "capabilities" (dict "drop" (list "ALL"))) -}}
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  {{- toYaml (default $restricted .Values.containerSecurityContext) | nindent 2 }}
{{- end -}}

{{/* Old versions of a workload that stay for a rollback. */}}
{{- define "heliograph.revisions" -}}
revisionHistoryLimit: {{ ternary .Values.revisionHistoryLimit 3 (hasKey .Values "revisionHistoryLimit") | int }}
{{- end -}}

{{/* Seconds in which a pod of the runtime ends by itself. */}}
{{- define "heliograph.runtime.endSeconds" -}}
{{ add .Values.runtime.unreadySeconds .Values.runtime.drainSeconds 10 }}
{{- end -}}

{{/* Watched namespaces, as a comma-separated list. */}}
{{- define "heliograph.watched" -}}
{{- default (list .Release.Namespace) .Values.watch.namespaces | uniq | sortAlpha | join "," -}}
{{- end -}}

{{/* Labels that watch.selector asks for, as a YAML map; empty where it has another form than `a=b,c=d`. */}}
{{- define "heliograph.selectorLabels" -}}
{{- if regexMatch "^[^=!,() ]+==?[^=!,() ]+(,[^=!,() ]+==?[^=!,() ]+)*$" .Values.watch.selector -}}
{{- range $pair := splitList "," .Values.watch.selector }}
{{- $parts := regexSplit "==?" $pair 2 }}
{{ index $parts 0 }}: {{ index $parts 1 | quote }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Not empty where more than one namespace is watched and each of them may name every tenant. */}}
{{- define "heliograph.openGrants" -}}
{{- if or .Values.watch.allNamespaces (contains "," (include "heliograph.watched" .)) -}}
{{- range .Values.policy.grants -}}
{{- if and (has "*" .namespaces) (has "*" (default list .tenants)) -}}open{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Number of servers that wrote the stored data: 1 or 3. Empty without stored data, or where the chart is rendered without a cluster. The
ConfigMap shows the number, because the servers may be scaled to another one now. After an uninstall the volumes show it.
*/}}
{{- define "heliograph.nats.serversBefore" -}}
{{- $name := include "heliograph.nats.name" . -}}
{{- $config := lookup "v1" "ConfigMap" .Release.Namespace $name -}}
{{- if $config -}}
{{ ternary 3 1 (contains "\ncluster {" (dig "data" "nats.conf" "" $config)) }}
{{- else if lookup "v1" "PersistentVolumeClaim" .Release.Namespace (printf "data-%s-1" $name) -}}
3
{{- else if lookup "v1" "PersistentVolumeClaim" .Release.Namespace (printf "data-%s-0" $name) -}}
1
{{- end -}}
{{- end -}}

{{- define "heliograph.nats.authSecret" -}}
{{- if .Values.nats.enabled -}}
{{- default (printf "%s-nats-auth" (include "heliograph.fullname" .)) .Values.nats.authSecret -}}
{{- else -}}
{{- .Values.externalNats.authSecret -}}
{{- end -}}
{{- end -}}

{{- define "heliograph.nats.tlsSecret" -}}
{{- if .Values.nats.enabled -}}
{{- default (printf "%s-tls" (include "heliograph.nats.name" .)) .Values.nats.tls.existingSecret -}}
{{- else -}}
{{- .Values.externalNats.tlsSecret -}}
{{- end -}}
{{- end -}}

{{/* Every name under which a NATS server is called, as a YAML list: of one server and of three, so that one certificate serves both. */}}
{{- define "heliograph.nats.hosts" -}}
{{- $name := include "heliograph.nats.name" . -}}
{{- $headless := printf "%s-pods" $name -}}
{{- range $service := list (printf "%s-nats" (include "heliograph.fullname" .)) $headless }}
- {{ $service | quote }}
- {{ $service }}.{{ $.Release.Namespace }}
- {{ $service }}.{{ $.Release.Namespace }}.svc
- {{ printf "%s.%s.svc.%s" $service $.Release.Namespace $.Values.clusterDomain | quote }}
{{- end }}
# For forwarded ports, as in a backup.
- localhost
{{- range $index := until 3 }}
- {{ $name }}-{{ $index }}.{{ $headless }}.{{ $.Release.Namespace }}.svc
- {{ printf "%s-%d.%s.%s.svc.%s" $name $index $headless $.Release.Namespace $.Values.clusterDomain | quote }}
{{- end }}
{{- end -}}

{{/* The runtime's settings file: settings with the cluster as an issuer. */}}
{{- define "heliograph.settings" -}}
{{- $settings := deepCopy .Values.settings -}}
{{- $issuers := default list $settings.issuers -}}
{{- with .Values.clusterIssuer -}}
{{- if .enabled -}}
{{- $grants := default list .grants -}}
{{- if $.Values.tests.enabled -}}
{{- $subject := printf "system:serviceaccount:%s:%s-test" $.Release.Namespace (include "heliograph.fullname" $) -}}
{{- $grants = append $grants (dict "subject" $subject "scopes" (list "events:write" "webhooks:read" "metrics:read") "tenants" (list $.Values.tests.tenant) "partners" (list "*")) -}}
{{- end -}}
{{- $own := dict "audiences" .audiences "jwksUrl" "https://kubernetes.default.svc/openid/v1/jwks" -}}
{{- with .issuer -}}{{- $_ := set $own "issuer" . -}}{{- end -}}
{{- $_ := set $own "jwksCaFile" "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt" -}}
{{- if .tokenBinding -}}{{- $_ := set $own "tokenBinding" .tokenBinding -}}{{- end -}}
{{- $_ := set $own "jwksTokenFile" "/var/run/secrets/kubernetes.io/serviceaccount/token" -}}
{{- if $grants -}}{{- $_ := set $own "grants" $grants -}}{{- end -}}
{{- $issuers = append $issuers $own -}}
{{- end -}}
{{- end -}}
{{- $_ := set $settings "issuers" $issuers -}}
{{- with .Values.runtime.tls -}}
{{- if .secret -}}
{{- $tls := dict "certFile" "/etc/heliograph-tls/tls.crt" "keyFile" "/etc/heliograph-tls/tls.key" "minVersion" .minVersion -}}
{{- if .clientCaSecret -}}{{- $_ := set $tls "clientCaFile" "/etc/heliograph-client-ca/ca.crt" -}}{{- end -}}
{{- $_ := set $settings "tls" $tls -}}
{{- end -}}
{{- end -}}
{{- with .Values.runtime.console -}}
{{- $console := default dict $settings.console -}}
{{- if eq .enabled false -}}{{- $_ := set $console "enabled" false -}}{{- end -}}
{{- with .issuer -}}{{- $_ := set $console "issuer" . -}}{{- end -}}
{{- with .clientId -}}{{- $_ := set $console "clientId" . -}}{{- end -}}
{{- with .scopes -}}{{- $_ := set $console "scopes" . -}}{{- end -}}
{{- /* Pods of versions without a console know no such setting. */ -}}
{{- if $console -}}{{- $_ := set $settings "console" $console -}}{{- end -}}
{{- end -}}
{{- with .Values.runtime.console -}}
{{- if .issuer -}}
{{- if not .clientId -}}
{{- fail (printf "The console signs people in at %s, but without a client id: set runtime.console.clientId." .issuer) -}}
{{- end -}}
{{- $own := dict -}}
{{- $name := .issuer -}}
{{- range $issuers -}}{{- if eq .issuer $name -}}{{- $own = . -}}{{- end -}}{{- end -}}
{{- if not $own -}}
{{- fail (printf "The console signs people in at %s, which is not a trusted issuer: add it to settings.issuers with tokenBinding: Key." .issuer) -}}
{{- end -}}
{{- if ne ($own.tokenBinding | default $settings.tokenBinding | default "None") "Key" -}}
{{- fail (printf "The console signs people in at %s, whose tokens must be bound to a key: add it to settings.issuers with tokenBinding: Key." .issuer) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not (or $settings.tls $settings.trustedProxies) -}}
{{- range $issuers -}}
{{- if eq (.tokenBinding | default $settings.tokenBinding | default "None") "Certificate" -}}
{{- fail (printf "Tokens of %s must be bound to a client certificate, but clients have no way to present one: set runtime.tls.secret or settings.trustedProxies, or settings.tokenBinding=None to accept bearer tokens from any client." .issuer) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{- define "heliograph.policy" -}}
{{- $grants := .Values.policy.grants -}}
{{- if .Values.tests.enabled -}}
{{- $grants = append $grants (dict "namespaces" (list .Release.Namespace) "tenants" (list .Values.tests.tenant) "producers" (list "*") "storeHosts" (list (printf "%s-test.%s.svc.%s" (include "heliograph.fullname" .) .Release.Namespace .Values.clusterDomain)) "clients" (list "*") "cidrs" .Values.tests.cidrs "plaintext" true) -}}
{{- end -}}
{{- toYaml (dict "grants" $grants) -}}
{{- end -}}

{{/* Ports of DNS, which a NetworkPolicy compares after the Service's address was translated. */}}
{{- define "heliograph.dnsPorts" -}}
{{- range default (list 53 5353 8053) .Values.networkPolicy.dnsPorts }}
- {port: {{ int . }}, protocol: UDP}
- {port: {{ int . }}, protocol: TCP}
{{- end }}
{{- end -}}

{{/* Head of the NetworkPolicy of a part: (list root part). */}}
{{- define "heliograph.policyHead" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "heliograph.fullname" (index . 0) }}-{{ ternary (include "heliograph.nats.component" (index . 0)) (index . 1) (eq (index . 1) "nats") }}
  namespace: {{ (index . 0).Release.Namespace | quote }}
  labels:
    {{- include "heliograph.labels" (index . 0) | nindent 4 }}
    {{- include "heliograph.selector" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "heliograph.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
{{- end -}}
