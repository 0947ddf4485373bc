{{- define "hookline.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "hookline.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "hookline.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "hookline.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Where a pod may run, and how it is ranked. Takes the values that say so, such as .Values.jobs. */}}
{{- define "hookline.scheduling" -}}
{{- range $name := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with get $ $name }}
{{ dict $name . | toYaml }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Helm allows release names that no Service can have: it would fail in the middle, after the jobs and the pods. */}}
{{- define "hookline.checkName" -}}
{{- $name := include "hookline.fullname" . -}}
{{- if not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" $name) }}{{ fail (printf "The release's objects would be named %s: a Service's name begins with a letter and has only a-z, 0-9 and -. Name the release so, or set fullnameOverride." $name) }}{{ end -}}
{{- end -}}

{{- define "hookline.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: hookline
{{ include "hookline.selector" . }}
{{- end -}}

{{- define "hookline.selector" -}}
app.kubernetes.io/name: {{ include "hookline.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* Labels or annotations of the values, besides those of the chart. Call with (dict "own" the chart's, as YAML "of" name of the values "further" the values). */}}
{{- define "hookline.withFurther" -}}
{{- $own := fromYaml .own -}}
{{- range $name, $_ := .further }}
{{- if hasKey $own $name }}{{ fail (printf "%s has %s, which the chart sets itself: leave it out." $.of $name) }}{{ end -}}
{{- end -}}
{{ .own }}
{{- with .further }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "hookline.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "hookline.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "hookline.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{/* What every pod has: the restricted Pod Security level, and no token. */}}
{{- define "hookline.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "hookline.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{/* A setting as the environment has it: YAML makes a float of every number. */}}
{{- define "hookline.value" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{ . | int64 | quote }}
{{- else -}}
{{ . | toString | quote }}
{{- end -}}
{{- end -}}

{{- define "hookline.adminProbes" -}}
startupProbe:
  httpGet: { path: /livez, port: metrics }
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /livez, port: metrics }
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 3
readinessProbe:
  httpGet: { path: /readyz, port: metrics }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 1
{{- end -}}

{{/* After SIGTERM the process has STOP_DEADLINE_MS; what has not ended by itself then is ended. */}}
{{- define "hookline.gracePeriod" -}}
{{- $deadline := get (.settings | default dict) "STOP_DEADLINE_MS" | default "25000" | include "hookline.value" | trimAll "\"" | trim -}}
{{- if not (regexMatch "^[0-9]+$" $deadline) }}{{ fail (printf "STOP_DEADLINE_MS is %q: give a whole number of milliseconds, such as \"25000\"." $deadline) }}{{ end -}}
{{ add (div (add (atoi $deadline) 999) 1000) 5 }}
{{- end -}}

{{- define "hookline.topologySpread" -}}
{{- if kindIs "invalid" .constraints -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{ include "hookline.selector" .root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  # Of this revision alone: else a rollout would spread the new pods around the old ones.
  matchLabelKeys: [{{ ternary "controller-revision-hash" "pod-template-hash" (default false .isSet) }}]
{{- else -}}
{{ toYaml .constraints }}
{{- end -}}
{{- end -}}

{{/*
  Over zones pods are spread by affinity. With a second constraint Kubernetes would not spread them over nodes either where nodes have
  no zone: a node that lacks the label of one constraint gets no score for any. Takes (dict "root" $ "component" "ingress").
*/}}
{{- define "hookline.apartInZones" -}}
preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: topology.kubernetes.io/zone
      labelSelector:
        matchLabels: {{ include "hookline.selector" .root | nindent 10 }}
          app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Whether a host of expose is that of publicUrl, or covers it: `*.example.org`. Call with (dict "host" host "public" (urlParse publicUrl)). */}}
{{- define "hookline.isPublicHost" -}}
{{- $host := lower .host -}}
{{- $public := lower .public.hostname -}}
{{- if or (eq $host $public) (and (hasPrefix "*." $host) (hasSuffix (trimPrefix "*" $host) $public)) }}true{{ end -}}
{{- end }}

{{/* The families of a Service's addresses, where the values say which. The metrics have one: Prometheus, and the console, would read each pod twice. */}}
{{- define "hookline.ipFamilies" -}}
{{- with .ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .ipFamilies }}
ipFamilies: {{ toJson . }}
{{- end }}
{{- end -}}

{{/* Bytes of a quantity, such as 1Gi. */}}
{{- define "hookline.bytes" -}}
{{- $units := dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "" 1 -}}
{{- $number := regexFind "^[0-9.]+" . -}}
{{- mulf (float64 $number) (float64 (get $units (trimPrefix $number .))) | int64 -}}
{{- end -}}

{{/* A volume that is full before the spool is would refuse webhooks, and no alert would see it coming. */}}
{{- define "hookline.checkSpoolSize" -}}
{{- include "hookline.checkSpace" (dict "bytes" .maxBytes "name" "ingress.spool.maxBytes" "size" .size "of" "ingress.spool.size") -}}
{{- end -}}

{{/* Above it the kubelet would end the console again and again. */}}
{{- define "hookline.checkIndexSize" -}}
{{- $most := default 536870912 (get (.settings | default dict) "CONSOLE_INDEX_MAX_BYTES") -}}
{{- include "hookline.checkSpace" (dict "bytes" $most "name" "CONSOLE_INDEX_MAX_BYTES" "size" .indexSize "of" "console.indexSize") -}}
{{- end -}}

{{/* What may be written must have its place. Call with (dict "bytes" most bytes "name" their name "size" quantity "of" its name). */}}
{{- define "hookline.checkSpace" -}}
{{- $most := sub (include "hookline.bytes" (toString .size) | int64) 67108864 -}}
{{- if gt (int64 .bytes) $most }}{{ fail (printf "%s is %d: give at most %d, 64 MiB less than %s (%s)." .name (int64 .bytes) $most .of (toString .size)) }}{{ end -}}
{{- end -}}
