{{/*
  The files of each process, the secrets among them, and how they come into its pod: mounted under /etc/hookline, or by something else.
  All take (dict "root" $ "process" "ingress").
*/}}

{{- define "hookline.usesWebIdentity" -}}
{{- with .root.Values.bodyStore }}{{ not (or (eq $.process "setup") (empty .address) (empty .webIdentity.roleArn)) }}{{ end -}}
{{- end -}}

{{/* Whose keys a process gets from Secrets: a list of {ref, secret}, or nothing. Only ingress needs those of probes. */}}
{{- define "hookline.keys" -}}
{{- $keys := list -}}
{{- if ne .process "setup" }}{{ $keys = .root.Values.subscriptions | default list }}{{ end -}}
{{- $refs := dict -}}
{{- range $keys }}
{{- if hasKey $refs .ref }}{{ fail (printf "subscriptions has the ref %s twice" .ref) }}{{ end -}}
{{- $_ := set $refs .ref true -}}
{{- end -}}
{{- with .root.Values.verify }}{{ if and .enabled .secret (eq $.process "ingress") }}{{ $keys = append $keys (dict "ref" "hookline-probe" "secret" .secret) }}{{ end }}{{ end -}}
{{- if and $keys .root.Values.subscriptionsDir }}{{ fail "subscriptionsDir takes the place of subscriptions and of verify.secret: leave these empty, and put the folder of each ref into it, that of hookline-probe with verify.enabled too" }}{{ end -}}
{{- if $keys }}{{ toYaml $keys }}{{ end -}}
{{- end -}}

{{- define "hookline.usesDialect" -}}
{{- $knows := or (eq .process "control") (eq .process "console") (eq (.user | default "") "subscriptions") -}}
{{- with .root.Values }}{{ and $knows .control.enabled (not (empty .provider.dialect)) }}{{ end -}}
{{- end -}}

{{/* The dialect is in the pod, as the settings are: its file is this annotation. */}}
{{- define "hookline.dialectAnnotation" -}}
{{- if eq (include "hookline.usesDialect" .) "true" -}}
hookline/dialect: {{ toJson .root.Values.provider.dialect | toJson }}
{{- end -}}
{{- end -}}

{{/*
  Files of a process: a list of {env, dir, file, secret, key}. Without a Secret it is the dialect's; a Secret that begins with / is a folder
  that something else puts into the pod, and is not mounted here.
*/}}
{{- define "hookline.fileList" -}}
{{- $v := .root.Values -}}
{{- $ofProvider := and (eq .process "control") $v.control.enabled -}}
{{- if eq (include "hookline.usesKafka" .) "true" }}
{{- with $v.kafka.tls }}{{ if and .enabled .caSecret }}
- { env: KAFKA_CA_FILE, dir: kafka-ca, file: ca.crt, secret: {{ .caSecret | quote }}, key: {{ .caKey | quote }} }
{{- end }}{{ end }}
{{- end }}
{{- include "hookline.identityFiles" . }}
{{- with $v.schemaRegistry }}{{ if .caSecret }}
- { env: SCHEMA_REGISTRY_CA_FILE, dir: registry-ca, file: ca.crt, secret: {{ .caSecret | quote }}, key: {{ .caKey | quote }} }
{{- end }}{{ end }}
{{- if ne .process "setup" }}
- { env: SEALING_KEY_FILE, dir: sealing-key, file: sealing-key, secret: {{ $v.sealingKey.secret | quote }}, key: {{ $v.sealingKey.key | quote }} }
{{- end }}
{{- if ne .process "setup" }}{{ with $v.bodyStore }}{{ if .address }}{{ if .credentialsSecret }}
- { env: AWS_SHARED_CREDENTIALS_FILE, dir: body-store, file: credentials, secret: {{ .credentialsSecret | quote }}, key: {{ .credentialsKey | quote }} }
{{- end }}{{ if .caSecret }}
- { env: BODY_STORE_CA_FILE, dir: body-store-ca, file: ca.crt, secret: {{ .caSecret | quote }}, key: {{ .caKey | quote }} }
{{- end }}{{ end }}{{ end }}{{ end }}
{{- if eq .process "ingress" }}{{ with $v.ingress.tls }}{{ if .secret }}
- { env: TLS_CERT_FILE, dir: tls, file: tls.crt, secret: {{ .secret | quote }}, key: tls.crt }
- { env: TLS_KEY_FILE, dir: tls, file: tls.key, secret: {{ .secret | quote }}, key: tls.key }
{{- end }}{{ if .clientCaSecret }}
- { env: TLS_CLIENT_CA_FILE, dir: tls-client-ca, file: ca.crt, secret: {{ .clientCaSecret | quote }}, key: {{ .clientCaKey | quote }} }
{{- end }}{{ end }}{{ end }}
{{- if eq .process "console" }}{{ with $v.console.oidc }}{{ if .issuer }}
- { env: CONSOLE_OIDC_CLIENT_SECRET_FILE, dir: console-oidc, file: client-secret, secret: {{ required "console.oidc.secret is needed with console.oidc.issuer" .secret | quote }}, key: {{ .secretKey | quote }} }
{{- end }}{{ end }}{{ end }}
{{- if $ofProvider }}{{ with $v.provider }}
{{- if .jwtSecret }}
- { env: PROVIDER_JWT_FILE, dir: provider-jwt, file: jwt, secret: {{ .jwtSecret | quote }}, key: {{ .jwtKey | quote }} }
{{- end }}{{ if .jwtKeySecret }}
- { env: PROVIDER_JWT_KEY_FILE, dir: provider-jwt-key, file: private-key.pem, secret: {{ .jwtKeySecret | quote }}, key: {{ .jwtKeyKey | quote }} }
{{- end }}{{ if .caSecret }}
- { env: PROVIDER_CA_FILE, dir: provider-ca, file: ca.crt, secret: {{ .caSecret | quote }}, key: {{ .caKey | quote }} }
{{- end }}{{ end }}{{ end }}
{{- if eq (.user | default "") "verify" }}{{ with $v.verify }}
{{- if .caSecret }}
- { env: VERIFY_CA_FILE, dir: verify-ca, file: ca.crt, secret: {{ .caSecret | quote }}, key: {{ .caKey | quote }} }
{{- end }}{{ if .certificateSecret }}
- { env: VERIFY_CERT_FILE, dir: verify-user, file: tls.crt, secret: {{ .certificateSecret | quote }}, key: tls.crt }
- { env: VERIFY_KEY_FILE, dir: verify-user, file: tls.key, secret: {{ .certificateSecret | quote }}, key: tls.key }
{{- end }}{{ end }}{{ end }}
{{- if eq (include "hookline.usesDialect" .) "true" }}
- { env: PROVIDER_DIALECT_FILE, dir: provider-dialect, file: dialect.json }
{{- end }}
{{- end -}}

{{- define "hookline.filePath" -}}
{{- if hasPrefix "/" (.secret | default "") }}{{ .secret }}/{{ .key }}{{ else }}/etc/hookline/{{ .dir }}/{{ .file }}{{ end -}}
{{- end -}}

{{/* Those of its files that the chart mounts. */}}
{{- define "hookline.mountedFiles" -}}
{{- $mounted := list -}}
{{- range (include "hookline.fileList" . | fromYamlArray) }}
{{- if not (hasPrefix "/" (.secret | default "")) }}{{ $mounted = append $mounted . }}{{ end -}}
{{- end -}}
{{ toYaml $mounted }}
{{- end -}}

{{/*
  What the values add to a pod: "extraVolumes" or "extraVolumeMounts", as "what". A job has those of all jobs; one that has the files of a
  process (.job) has those of the process too.
*/}}
{{- define "hookline.extra" }}
{{- $of := ternary (list "jobs") (list .process) (eq .process "setup") -}}
{{- if .job }}{{ $of = append $of "jobs" }}{{ end -}}
{{- $taken := dict -}}
{{- range $from := $of }}
{{- range index $.root.Values $from $.what }}
{{- $id := .name }}
{{- if eq $.what "extraVolumes" }}
{{- if has .name (include "hookline.ownVolumes" $ | fromYamlArray) }}{{ fail (printf "%s.extraVolumes has %s, the name of a volume of the chart: give it another one, such as secrets" $from .name) }}{{ end -}}
{{- else }}
{{- $id = clean .mountPath }}
{{- if regexMatch "^/(etc(/hookline(/.*)?)?|var(/lib(/hookline(/.*)?)?)?|app(/.*)?)?$" $id }}{{ fail (printf "%s.extraVolumeMounts has %s, where the chart and the image have their own files: mount it elsewhere, such as at /mnt/secrets" $from .mountPath) }}{{ end -}}
{{- end -}}
{{- if eq (get $taken $id) $from }}{{ fail (printf "%s.%s has %s twice" $from $.what $id) }}{{ end -}}
{{- if not (hasKey $taken $id) }}
- {{ toYaml . | nindent 2 | trim }}
{{- $_ := set $taken $id $from -}}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The names of all volumes that the chart has in some pod: Kubernetes refuses a pod with two of a name. */}}
{{- define "hookline.ownVolumes" -}}
[kafka-ca, kafka-user, kafka-password, kafka-oauth, kafka-oauth-ca, kafka-token,
registry-ca, registry-user, registry-password, registry-oauth, registry-oauth-ca, registry-token,
provider-ca, provider-user, provider-jwt, provider-jwt-key, provider-dialect,
sealing-key, body-store, body-store-ca, web-identity, tls, tls-client-ca, console-oidc, event-schemas, subscriptions, subscriptions-as-code,
spool, spool-drain, kubernetes, index, probe, verify-ca, verify-user]
{{- end -}}

{{- define "hookline.mounts" -}}
{{- $dirs := dict -}}
{{- range concat (include "hookline.mountedFiles" . | fromYamlArray) (include "hookline.projectedTokens" . | fromYamlArray) }}{{ $_ := set $dirs .dir true }}{{ end -}}
{{- range keys $dirs | sortAlpha }}
- { name: {{ . }}, mountPath: /etc/hookline/{{ . }}, readOnly: true }
{{- end }}
{{- if include "hookline.keys" . }}
- { name: subscriptions, mountPath: /etc/hookline/subscriptions, readOnly: true }
{{- end }}
{{- if eq (include "hookline.usesWebIdentity" .) "true" }}
- { name: web-identity, mountPath: /etc/hookline/web-identity, readOnly: true }
{{- end }}
{{- if .root.Values.eventSchemasConfigMap }}
- { name: event-schemas, mountPath: /app/schemas/events, readOnly: true }
{{- end }}
{{- if and (eq .process "ingress") (or .root.Values.ingress.spool.enabled .drains) }}
- { name: spool, mountPath: /var/lib/hookline/spool }
{{- end }}
{{- include "hookline.extra" (merge (dict "what" "extraVolumeMounts") .) }}
{{- end -}}

{{/* A whole Secret is mounted, never a single file of it by subPath: such a file would not be renewed. */}}
{{- define "hookline.volumes" -}}
{{- $byDir := dict -}}
{{- range (include "hookline.mountedFiles" . | fromYamlArray) }}
{{- $_ := set $byDir .dir (append (index $byDir .dir | default list) .) -}}
{{- end -}}
{{- range $dir := keys $byDir | sortAlpha }}
{{- $first := index $byDir $dir | first }}
- name: {{ $dir }}
  {{- if not $first.secret }}
  downwardAPI:
    items:
      - { path: {{ $first.file }}, fieldRef: { fieldPath: "metadata.annotations['hookline/dialect']" } }
  {{- else }}
  secret:
    secretName: {{ $first.secret | quote }}
    defaultMode: 0440
    items:
      {{- range index $byDir $dir }}
      - { key: {{ .key | quote }}, path: {{ .file }} }
      {{- end }}
  {{- end }}
{{- end }}
{{- if include "hookline.keys" . }}
- name: subscriptions
  projected:
    defaultMode: 0440
    sources:
      {{- range include "hookline.keys" . | fromYamlArray }}
      {{- $ref := .ref }}
      {{- $secret := .secret }}
      {{- range list "subscription-id" "signing-secret" "encryption-key" }}
      # Optional: which of them a subscription has is its own affair, and a Secret may come later.
      - secret: { name: {{ $secret | quote }}, optional: true, items: [{ key: {{ . }}, path: {{ $ref }}/{{ . }} }] }
      {{- end }}
      {{- end }}
{{- end }}
{{- if eq (include "hookline.usesWebIdentity" .) "true" }}
- name: web-identity
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: { path: token, audience: {{ .root.Values.bodyStore.webIdentity.audience | quote }}, expirationSeconds: 3600 }
{{- end }}
{{- include "hookline.projectedVolumes" . }}
{{- if .root.Values.eventSchemasConfigMap }}
- name: event-schemas
  configMap: { name: {{ .root.Values.eventSchemasConfigMap | quote }} }
{{- end }}
{{- include "hookline.extra" (merge (dict "what" "extraVolumes") .) }}
{{- end -}}
