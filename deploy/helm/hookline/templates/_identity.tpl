{{/*
  Who a process is: to the brokers, the schema registry and the provider, and by which service account.
  All take (dict "root" $ "process" "ingress"). A job is the process "setup", and may name a "user" of its own.
*/}}

{{- define "hookline.checkTokens" -}}
{{- with .root.Values.kafka.sasl -}}
{{- $isSet := list (not (empty .oauth.tokenUrl)) (not (empty .serviceAccountToken.audience)) -}}
{{- if and (ne .mechanism "OAUTHBEARER") (has true $isSet) -}}
{{- fail "kafka.sasl.oauth.tokenUrl and kafka.sasl.serviceAccountToken.audience need kafka.sasl.mechanism OAUTHBEARER." -}}
{{- else if and (eq .mechanism "OAUTHBEARER") (eq (len (uniq $isSet)) 1) -}}
{{- fail "kafka.sasl.mechanism OAUTHBEARER needs one of kafka.sasl.oauth.tokenUrl and kafka.sasl.serviceAccountToken.audience: set one, and leave the other empty." -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "hookline.kafkaIdentity" }}
{{- include "hookline.checkTokens" . -}}
{{- $sasl := .root.Values.kafka.sasl -}}
{{- $mechanism := ternary $sasl.mechanism "" (eq (include "hookline.usesKafka" .) "true") -}}
{{- $user := include "hookline.user" . | fromYaml -}}
{{- $isNeeded := printf "kafka.credentials.%s.%%s is needed with kafka.sasl.%%s" (.user | default .process) -}}
{{- with $mechanism }}
KAFKA_SASL_MECHANISM: {{ . }}
{{- end }}
{{- if eq $mechanism "AWS_MSK_IAM" }}
KAFKA_AWS_REGION: {{ required "kafka.sasl.awsRegion is needed with kafka.sasl.mechanism AWS_MSK_IAM" $sasl.awsRegion | quote }}
{{- else if eq $mechanism "OAUTHBEARER" }}
{{- with $sasl.oauth.tokenUrl }}
KAFKA_OAUTH_TOKEN_URL: {{ . | quote }}
KAFKA_OAUTH_CLIENT_ID: {{ required (printf $isNeeded "oauthClientId" "oauth.tokenUrl") $user.oauthClientId | quote }}
{{- with $sasl.oauth.scope }}
KAFKA_OAUTH_SCOPE: {{ . | quote }}
{{- end }}
{{- end }}
{{- with $sasl.oauth.extensions }}
KAFKA_OAUTH_EXTENSIONS: {{ include "hookline.pairs" . | quote }}
{{- end }}
{{- else if $mechanism }}
KAFKA_USERNAME: {{ required (printf $isNeeded "username" "mechanism") $user.username | quote }}
{{- end }}
{{- end -}}

{{- define "hookline.registryIdentity" }}
{{- with .root.Values.schemaRegistry }}
{{- if gt (len (compact (list .username .oauth.tokenUrl .serviceAccountToken.audience))) 1 }}
{{- fail "Set only one of schemaRegistry.username, schemaRegistry.oauth.tokenUrl and schemaRegistry.serviceAccountToken.audience." }}
{{- end }}
{{- with .username }}
SCHEMA_REGISTRY_USERNAME: {{ . | quote }}
{{- end }}
{{- if .oauth.tokenUrl }}
SCHEMA_REGISTRY_OAUTH_TOKEN_URL: {{ .oauth.tokenUrl | quote }}
SCHEMA_REGISTRY_OAUTH_CLIENT_ID: {{ required "schemaRegistry.oauth.clientId is needed with schemaRegistry.oauth.tokenUrl" .oauth.clientId | quote }}
{{- with .oauth.scope }}
SCHEMA_REGISTRY_OAUTH_SCOPE: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .headers }}
SCHEMA_REGISTRY_HEADERS: {{ include "hookline.pairs" . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A map as a list of name=value, in the order of the names. */}}
{{- define "hookline.pairs" -}}
{{- $pairs := list -}}
{{- range $name, $value := . }}{{ $pairs = append $pairs (printf "%s=%s" $name $value) }}{{ end -}}
{{- join "," $pairs -}}
{{- end -}}

{{/* The user of a process, or of a job that has one of its own: that of subscriptionsAsCode has control's where it is given none. */}}
{{- define "hookline.user" -}}
{{- $credentials := .root.Values.kafka.credentials -}}
{{- $user := index $credentials (.user | default .process) -}}
{{- if and (eq (.user | default "") "subscriptions") (empty (compact (values $user))) }}{{ $user = $credentials.control }}{{ end -}}
{{ toYaml $user }}
{{- end -}}

{{/* Files of its identity, as entries of hookline.fileList. */}}
{{- define "hookline.identityFiles" }}
{{- include "hookline.checkTokens" . -}}
{{- $v := .root.Values -}}
{{- $sasl := $v.kafka.sasl -}}
{{- $user := include "hookline.user" . | fromYaml -}}
{{- if eq (include "hookline.usesKafka" .) "true" }}
{{- if and $v.kafka.tls.enabled $user.certificateSecret }}
- { env: KAFKA_CERT_FILE, dir: kafka-user, file: tls.crt, secret: {{ $user.certificateSecret | quote }}, key: {{ $v.kafka.tls.certificateKey | quote }} }
- { env: KAFKA_KEY_FILE, dir: kafka-user, file: tls.key, secret: {{ $user.certificateSecret | quote }}, key: {{ $v.kafka.tls.keyKey | quote }} }
{{- end }}
{{- if has $sasl.mechanism (list "PLAIN" "SCRAM-SHA-256" "SCRAM-SHA-512") }}
- { env: KAFKA_PASSWORD_FILE, dir: kafka-password, file: password, secret: {{ required (printf "kafka.credentials.%s.passwordSecret is needed with kafka.sasl.mechanism" (.user | default .process)) $user.passwordSecret | quote }}, key: {{ $sasl.passwordKey | quote }} }
{{- end }}
{{- if $sasl.oauth.tokenUrl }}
- { env: KAFKA_OAUTH_CLIENT_SECRET_FILE, dir: kafka-oauth, file: client-secret, secret: {{ required (printf "kafka.credentials.%s.oauthSecret is needed with kafka.sasl.oauth.tokenUrl" (.user | default .process)) $user.oauthSecret | quote }}, key: {{ $sasl.oauth.secretKey | quote }} }
{{- with $sasl.oauth.caSecret }}
- { env: KAFKA_OAUTH_CA_FILE, dir: kafka-oauth-ca, file: ca.crt, secret: {{ . | quote }}, key: {{ $sasl.oauth.caKey | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- with $v.schemaRegistry }}{{ if .passwordSecret }}
- { env: SCHEMA_REGISTRY_PASSWORD_FILE, dir: registry-password, file: password, secret: {{ .passwordSecret | quote }}, key: {{ .passwordKey | quote }} }
{{- end }}{{ if .oauth.tokenUrl }}
- { env: SCHEMA_REGISTRY_OAUTH_CLIENT_SECRET_FILE, dir: registry-oauth, file: client-secret, secret: {{ required "schemaRegistry.oauth.secret is needed with schemaRegistry.oauth.tokenUrl" .oauth.secret | quote }}, key: {{ .oauth.secretKey | quote }} }
{{- if .oauth.caSecret }}
- { env: SCHEMA_REGISTRY_OAUTH_CA_FILE, dir: registry-oauth-ca, file: ca.crt, secret: {{ .oauth.caSecret | quote }}, key: {{ .oauth.caKey | quote }} }
{{- end }}{{ end }}{{ if .certificateSecret }}
- { env: SCHEMA_REGISTRY_CERT_FILE, dir: registry-user, file: tls.crt, secret: {{ .certificateSecret | quote }}, key: {{ .certificateKey | quote }} }
- { env: SCHEMA_REGISTRY_KEY_FILE, dir: registry-user, file: tls.key, secret: {{ .certificateSecret | quote }}, key: {{ .keyKey | quote }} }
{{- end }}{{ end }}
{{- if and (eq .process "control") $v.control.enabled }}{{ with $v.provider.certificateSecret }}
- { env: PROVIDER_CERT_FILE, dir: provider-user, file: tls.crt, secret: {{ . | quote }}, key: {{ $v.provider.certificateKey | quote }} }
- { env: PROVIDER_KEY_FILE, dir: provider-user, file: tls.key, secret: {{ . | quote }}, key: {{ $v.provider.keyKey | quote }} }
{{- end }}{{ end }}
{{- end -}}

{{/* Tokens of the pod's service account, which Kubernetes projects and renews: a list of {env, dir, audience, expirationSeconds}. */}}
{{- define "hookline.projectedTokens" }}
{{- with .root.Values.kafka.sasl.serviceAccountToken }}{{ if and .audience (eq (include "hookline.usesKafka" $) "true") }}
- { env: KAFKA_OAUTH_TOKEN_FILE, dir: kafka-token, audience: {{ .audience | quote }}, expirationSeconds: {{ .expirationSeconds | int64 }} }
{{- end }}{{ end }}
{{- with .root.Values.schemaRegistry.serviceAccountToken }}{{ if .audience }}
- { env: SCHEMA_REGISTRY_TOKEN_FILE, dir: registry-token, audience: {{ .audience | quote }}, expirationSeconds: {{ .expirationSeconds | int64 }} }
{{- end }}{{ end }}
{{- end -}}

{{- define "hookline.projectedVolumes" }}
{{- range (include "hookline.projectedTokens" . | fromYamlArray) }}
- name: {{ .dir }}
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: { path: token, audience: {{ .audience | quote }}, expirationSeconds: {{ .expirationSeconds | int64 }} }
{{- end }}
{{- end -}}

{{/* The service account of a process; nothing where it is the namespace's default, as the release's is not there yet. */}}
{{- define "hookline.processAccount" -}}
{{- $values := .root.Values.serviceAccount -}}
{{- $name := .user | default .process -}}
{{- if $values.perProcess -}}
{{- if not (or $values.create $values.name) }}{{ fail "serviceAccount.name is needed with serviceAccount.perProcess, unless serviceAccount.create is true: it is the first part of the names, as in {name}-ingress." }}{{ end -}}
{{ include "hookline.serviceAccount" .root }}-{{ $name }}
{{- else if ne $name "setup" -}}
{{ include "hookline.serviceAccount" .root }}
{{- end -}}
{{- end -}}
