{{/*
  The environment of each process, in its pod's own `env`. `hookline.plain` takes (dict "root" $ "process" "ingress").
*/}}

{{/* The job that registers schemas talks to the registry alone. */}}
{{- define "hookline.usesKafka" -}}
{{ or (ne .process "setup") (hasKey . "user") .root.Values.setup.topics.enabled }}
{{- end -}}

{{- define "hookline.plain" -}}
{{- $values := .root.Values -}}
KAFKA_BROKERS: {{ join "," $values.kafka.brokers | quote }}
KAFKA_SSL: {{ $values.kafka.tls.enabled | quote }}
{{- include "hookline.kafkaIdentity" . }}
SCHEMA_REGISTRY_URL: {{ $values.schemaRegistry.url | quote }}
{{- include "hookline.registryIdentity" . }}
TOPIC_PREFIX: {{ $values.topicPrefix | quote }}
MIN_INSYNC_REPLICAS: {{ $values.minInsyncReplicas | quote }}
ALLOW_PLAINTEXT_CREDENTIALS: {{ $values.allowPlaintextCredentials | quote }}
{{- with $values.proxy }}
{{- if and .https .httpsSecret }}{{ fail "proxy.https and proxy.httpsSecret are two addresses of the proxy: set one of them" }}{{ end }}
{{- with .https }}
HTTPS_PROXY: {{ . | quote }}
{{- end }}
{{- with .noProxy }}
NO_PROXY: {{ join "," . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "hookline.ingress.plain" -}}
{{ include "hookline.plain" (dict "root" . "process" "ingress") }}
ADMIN_PORT: "9464"
INGRESS_PORT: "8080"
{{- include "hookline.bodyStore" . }}
{{- if .Values.ingress.spool.enabled }}
{{- include "hookline.checkSpoolSize" .Values.ingress.spool }}
SPOOL_MAX_BYTES: {{ .Values.ingress.spool.maxBytes | int64 | quote }}
{{- end }}
{{- end -}}

{{/* For ingress; in a pod of control `hookline` uses it, run by hand, and the doctor of `helm test`. */}}
{{- define "hookline.bodyStore" }}
{{- with .Values.bodyStore }}{{ if .address }}
BODY_STORE: {{ .address | quote }}
CLAIM_CHECK_BYTES: {{ .claimCheckBytes | int64 | quote }}
BODY_STORE_DEADLINE_MS: {{ .deadlineMs | int64 | quote }}
{{- with .endpoint }}
BODY_STORE_ENDPOINT: {{ . | quote }}
{{- end }}
{{- with .region }}
BODY_STORE_REGION: {{ . | quote }}
{{- end }}
{{- with .sseKmsKeyId }}
BODY_STORE_SSE_KMS_KEY_ID: {{ . | quote }}
{{- end }}
{{- with .webIdentity.roleArn }}
AWS_ROLE_ARN: {{ . | quote }}
AWS_WEB_IDENTITY_TOKEN_FILE: /etc/hookline/web-identity/token
{{- end }}
{{- end }}{{ end }}
{{- end -}}

{{- define "hookline.control.plain" -}}
{{ include "hookline.plain" (dict "root" . "process" "control") }}
ADMIN_PORT: "9464"
PUBLIC_URL: {{ .Values.publicUrl | quote }}
COMMAND_TOPICS: {{ join "," .Values.commandTopics | quote }}
PROVIDER_AUTH_URL: {{ required "provider.authUrl is needed while control is enabled" .Values.provider.authUrl | quote }}
PROVIDER_BASE_URL: {{ required "provider.baseUrl is needed while control is enabled" .Values.provider.baseUrl | quote }}
PROVIDER_SCOPE: {{ required "provider.scope is needed while control is enabled" .Values.provider.scope | quote }}
{{- include "hookline.topicLimit" . }}
{{- include "hookline.bodyStore" . }}
{{- end -}}

{{- define "hookline.console.plain" -}}
{{- $console := .Values.console -}}
{{- $hasOidc := ne $console.oidc.issuer "" -}}
{{- $hasHeader := not (empty $console.userHeader) -}}
{{- if eq $hasOidc $hasHeader }}{{ fail "console.enabled needs a login: set one of console.oidc.issuer and console.userHeader." }}{{ end -}}
{{- if and $hasOidc (not (hasPrefix "https://" $console.publicUrl)) (not .Values.allowPlaintextCredentials) }}{{ fail "console.publicUrl must be the https address of the console with console.oidc.issuer: sessions and logins would travel without TLS" }}{{ end -}}
{{- if not $console.roles }}{{ fail "console.roles is needed: a list such as [payments=view, payments-oncall=operate]" }}{{ end -}}
{{- if and $hasHeader (not $console.trustedProxies) }}{{ fail "console.trustedProxies is needed with console.userHeader: whoever reaches the console past the proxy could write that header" }}{{ end -}}
{{ include "hookline.plain" (dict "root" . "process" "console") }}
CONSOLE_HOST: "::"
CONSOLE_PORT: "8070"
CONSOLE_INDEX_DIR: /var/lib/hookline/console
{{- with $console.publicUrl }}
CONSOLE_PUBLIC_URL: {{ . | quote }}
{{- end }}
CONSOLE_TARGETS: "http://{{ include "hookline.fullname" . }}-ingress-metrics:9464{{ if .Values.control.enabled }},http://{{ include "hookline.fullname" . }}-control-metrics:9464{{ end }}"
CONSOLE_ROLES: {{ join "," $console.roles | quote }}
{{- with $console.prometheusUrl }}
PROMETHEUS_URL: {{ . | quote }}
PROMETHEUS_MATCH: {{ printf "namespace=%q" $.Release.Namespace | squote }}
{{- end }}
{{- if $hasOidc }}
CONSOLE_OIDC_ISSUER: {{ $console.oidc.issuer | quote }}
CONSOLE_OIDC_CLIENT_ID: {{ required "console.oidc.clientId is needed with console.oidc.issuer" $console.oidc.clientId | quote }}
{{- else }}
CONSOLE_USER_HEADER: {{ $console.userHeader | quote }}
{{- with $console.groupsHeader }}
CONSOLE_GROUPS_HEADER: {{ . | quote }}
{{- end }}
CONSOLE_TRUSTED_PROXIES: {{ join "," $console.trustedProxies | quote }}
{{- end }}
COMMAND_TOPICS: {{ join "," .Values.commandTopics | default (printf "%s.commands" .Values.topicPrefix) | quote }}
{{- include "hookline.bodyStore" . }}
{{- end -}}

{{/* How large topics' records may be, for `hookline topics`: in the job, and by hand in a pod of control. */}}
{{- define "hookline.topicLimit" }}
MAX_RECORD_BYTES: {{ .Values.setup.topics.maxRecordBytes | int64 | quote }}
{{- end -}}

{{- define "hookline.setup.plain" -}}
{{ include "hookline.plain" (dict "root" . "process" "setup") }}
COMMAND_TOPICS: {{ join "," .Values.commandTopics | default (printf "%s.commands" .Values.topicPrefix) | quote }}
{{- include "hookline.topicLimit" . }}
{{- end -}}

{{- define "hookline.subscriptions.plain" -}}
{{ include "hookline.plain" (dict "root" . "process" "setup" "user" "subscriptions") }}
{{- end -}}

{{/*
  All of a process's `env`. It is in the pod and in no ConfigMap: a pod of the release before keeps its settings, also when it starts
  again, and so `kubectl rollout undo` brings them back. Takes the values of the process too: (dict … "values" .Values.ingress).
*/}}
{{- define "hookline.env" -}}
{{- include "hookline.variables" (include (printf "hookline.%s.plain" .process) .root | fromYaml) }}
{{- include "hookline.variables" .values.settings }}
{{- include "hookline.fileEnv" . }}
{{- end -}}

{{/* Variables by name, as `env` has them: Kubernetes would put other variables in place of $(NAME). */}}
{{- define "hookline.variables" -}}
{{- range $name, $value := . }}
- { name: {{ $name }}, value: {{ include "hookline.value" $value | replace "$" "$$" }} }
{{- end }}
{{- end -}}

{{- define "hookline.fileEnv" -}}
{{- with .root.Values.proxy }}{{ if .httpsSecret }}
- name: HTTPS_PROXY
  valueFrom: { secretKeyRef: { name: {{ .httpsSecret | quote }}, key: {{ .httpsKey | quote }} } }
{{- end }}{{ end }}
{{- range (include "hookline.fileList" . | fromYamlArray) }}
- { name: {{ .env }}, value: {{ include "hookline.filePath" . }} }
{{- end }}
{{- range (include "hookline.projectedTokens" . | fromYamlArray) }}
- { name: {{ .env }}, value: /etc/hookline/{{ .dir }}/token }
{{- end }}
{{- if and .root.Values.subscriptionsDir (ne .process "setup") }}
- { name: SECRETS_DIR, value: {{ .root.Values.subscriptionsDir }} }
{{- else if include "hookline.keys" . }}
- { name: SECRETS_DIR, value: /etc/hookline/subscriptions }
{{- end }}
{{- if and (eq .process "ingress") (or .root.Values.ingress.spool.enabled .drains) }}
- { name: SPOOL_DIR, value: /var/lib/hookline/spool }
{{- end }}
{{- end -}}
