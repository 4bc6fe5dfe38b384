{{/*
Container beside nats-server: it writes the server's users, makes it load them and renewed certificates, exports metrics and answers
the kubelet's probes. It starts before the server and ends after it. It sends SIGHUP to the server, which needs a common process
namespace, and never connects as a user.
*/}}
{{- define "heliograph.nats.monitor" -}}
{{- $requests := dict "cpu" "10m" "memory" "64Mi" "ephemeral-storage" "16Mi" -}}
{{- $limits := dict "memory" "128Mi" "ephemeral-storage" "16Mi" -}}
- name: monitor
  restartPolicy: Always
  image: {{ include "heliograph.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy | quote }}
  command: [node, --max-old-space-size=48, --max-semi-space-size=1, /app/cli/nats-monitor.js]
  args:
    - --auth=/etc/nats-auth
    {{- if gt (int .Values.nats.replicas) 1 }}
    # With the kubelet's minute: five minutes, in which a server catches up with the others.
    - --catch-up-seconds=240
    {{- end }}
  ports:
    - {name: metrics, containerPort: 7777}
  # The port is open once the users are written. The server starts then.
  startupProbe:
    tcpSocket: {port: metrics}
    periodSeconds: 1
    failureThreshold: 60
  resources:
    {{- toYaml (dig "monitor" "resources" (dict "requests" $requests "limits" $limits) .Values.nats) | nindent 4 }}
  {{- include "heliograph.containerSecurity" . | nindent 2 }}
  volumeMounts:
    - {name: tls, mountPath: /etc/nats-tls, readOnly: true}
    - {name: auth, mountPath: /etc/nats-auth, readOnly: true}
    - {name: run, mountPath: /var/run/nats}
    - {name: data, mountPath: /data, readOnly: true}
{{- end -}}
