{{/* Probes of the operator, as YAML. */}}
{{- define "heliograph.operator.probes" -}}
# Ends a process with a dead watch, because its cache is stale.
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
  failureThreshold: 6
# Ready when every cache of the replica is filled and compiled.
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 3
{{- end -}}

{{/* Probes of the runtime, as YAML. */}}
{{- define "heliograph.runtime.probes" -}}
# Green while the process serves requests. A long wait for NATS or the configuration needs no restart.
startupProbe:
  httpGet: {path: /healthz, port: admin}
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: admin}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
# Ready while every shard is applied, NATS is connected, both APIs are served, and the pod is not ending.
readinessProbe:
  httpGet: {path: /readyz, port: admin}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 1
{{- end -}}

{{/* Probes of the nats, as YAML. */}}
{{- define "heliograph.nats.probes" -}}
# The container `monitor` passes these paths on to the server, whose own port is closed.
# Ready once JetStream has recovered all its files.
startupProbe:
  httpGet: {path: "/healthz?js-enabled-only=true", port: 7777}
  periodSeconds: 1
  failureThreshold: 300
# Green while JetStream runs and every stream and consumer works. After a full disk, JetStream is off or a stream
# refuses writes until the server restarts, which the monitor requests once there is free space.
livenessProbe:
  httpGet: {path: /livez, port: 7777}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: "/healthz?js-server-only=true", port: 7777}
  periodSeconds: 2
  timeoutSeconds: 2
{{- end -}}
