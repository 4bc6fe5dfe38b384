{{- define "heliograph.nats.tlsBlock" -}}
tls {
  cert_file: "/etc/nats-tls/tls.crt"
  key_file: "/etc/nats-tls/tls.key"
  ca_file: "/etc/nats-tls/ca.crt"
}
{{- end -}}

{{- define "heliograph.nats.conf" -}}
{{- $name := include "heliograph.nats.name" . -}}
{{- with .Values.nats -}}
server_name: $POD_NAME
port: 4222
# Only the container `monitor` of the pod reads this port. It names every subject and connection.
http: "127.0.0.1:8222"
pid_file: "/var/run/nats/nats.pid"
# The container `monitor` writes the users and passwords of the Secret to this file, as quoted variables.
include "../../var/run/nats/users.conf"
{{ include "heliograph.nats.tlsBlock" $ }}
jetstream {
  store_dir: "/data"
  # Bytes.
  max_file_store: {{ include "heliograph.nats.fileStore" $ }}
  max_memory_store: {{ include "heliograph.nats.memoryStore" $ }}
  sync_interval: {{ .syncInterval | quote }}
}
RUNTIME_PERMISSIONS {
  publish {
    allow: [{{ printf "%s.>" (dig "streams" "prefix" "hg" $.Values.settings) | quote }}, "$KV.>", "$JS.API.>", "$JS.ACK.>"]
    # The runtime may neither delete a stream nor change the cluster.
    deny: ["$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.SNAPSHOT.>", "$JS.API.STREAM.RESTORE.>", "$JS.API.ACCOUNT.>", "$JS.API.SERVER.>", "$JS.API.META.>"]
  }
  # Responses, elections of consumers, events of producers, and requests between pods; no subject of a stream.
  subscribe { allow: ["_INBOX.>", "$JS.EVENT.ADVISORY.CONSUMER.LEADER_ELECTED.>", "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.>", {{ printf "%s.in.*" (dig "streams" "prefix" "hg" $.Values.settings) | quote }}, {{ printf "%s.pod.>" (dig "streams" "prefix" "hg" $.Values.settings) | quote }}] }
  # A recipient may send its response to the subject that the request names.
  allow_responses { max: 1, expires: "10s" }
}
# An account of the runtime's own, with subjects that no other account shares.
accounts {
  HELIOGRAPH {
    jetstream: enabled
    users: [{
      user: $NATS_RUNTIME_USER
      password: $NATS_RUNTIME_PASSWORD
      permissions: $RUNTIME_PERMISSIONS
    }, {
      # The user before a rotation, until the Secret no longer has it.
      user: $NATS_PREVIOUS_USER
      password: $NATS_PREVIOUS_PASSWORD
      permissions: $RUNTIME_PERMISSIONS
    }, {
      # For backups: nats --user backup.
      user: backup
      password: $NATS_BACKUP_PASSWORD
      permissions {
        publish { allow: ["$JS.API.>", "$JS.SNAPSHOT.>", "$JS.ACK.>"] }
        subscribe { allow: ["_INBOX.>"] }
      }
    }]
  }
  SYS { users: [{ user: system, password: $NATS_SYSTEM_PASSWORD }] }
}
system_account: SYS
{{- if gt (int .replicas) 1 }}
lame_duck_grace_period: 5s
lame_duck_duration: 30s
# Servers prove themselves to each other with certificates that name their pods.
cluster {
  name: {{ $name | quote }}
  port: 6222
  {{ include "heliograph.nats.tlsBlock" $ | replace "\n}" "\n  verify_cert_and_check_known_urls: true\n}" | nindent 2 | trim }}
  routes: [
    {{- range $index := until (int .replicas) }}
    "nats://{{ $name }}-{{ $index }}.{{ $name }}-pods.{{ $.Release.Namespace }}.svc:6222"
    {{- end }}
  ]
}
{{- end }}
{{- end -}}
{{- end -}}
