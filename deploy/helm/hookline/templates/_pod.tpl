{{/* A label by which the pods of this configuration are told from those before a change. */}}
{{- define "hookline.configuration" -}}
{{- $of := list (include "hookline.image" .root) (include (printf "hookline.%s.plain" .process) .root) (toJson .values.settings) (toJson .root.Values.provider.dialect) (include "hookline.fileEnv" .) (include "hookline.volumes" .) -}}
{{ join "\n" $of | sha256sum | trunc 16 | quote }}
{{- end -}}

{{- define "hookline.podLabels" -}}
{{ include "hookline.labels" .root }}
app.kubernetes.io/component: {{ .process }}
{{- if and (eq .process "control") .root.Values.subscriptionsAsCode.enabled }}
hookline/configuration: {{ include "hookline.configuration" . }}
{{- end }}
{{- end -}}

{{/* Takes what hookline.pod takes. */}}
{{- define "hookline.podMetadata" -}}
labels: {{ include "hookline.withFurther" (dict "own" (include "hookline.podLabels" .) "of" (printf "%s.podLabels" .process) "further" .values.podLabels) | nindent 2 }}
{{- with include "hookline.withFurther" (dict "own" (include "hookline.dialectAnnotation" .) "of" (printf "%s.podAnnotations" .process) "further" .values.podAnnotations) | trim }}
annotations: {{ . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The metadata of the pod of a job or a test, but for its name. Takes (dict "root" $ "component" "setup" "annotations" "YAML of its own"). */}}
{{- define "hookline.jobPodMetadata" -}}
{{- $own := printf "%s\napp.kubernetes.io/component: %s" (include "hookline.labels" .root) .component -}}
{{- with .root.Values.jobs -}}
labels: {{ include "hookline.withFurther" (dict "own" $own "of" "jobs.podLabels" "further" .podLabels) | nindent 2 }}
{{- with include "hookline.withFurther" (dict "own" ($.annotations | default "") "of" "jobs.podAnnotations" "further" .podAnnotations) | trim }}
annotations: {{ . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The pod of a process. Takes (dict "root" $ "process" "ingress" "values" .Values.ingress). */}}
{{- define "hookline.pod" -}}
metadata: {{ include "hookline.podMetadata" . | nindent 2 }}
spec:
  serviceAccountName: {{ include "hookline.processAccount" . }}
  {{- include "hookline.podSecurity" .root | nindent 2 }}
  # No preStop: after SIGTERM ingress is not ready, but still accepts webhooks for STOP_DELAY_MS.
  terminationGracePeriodSeconds: {{ include "hookline.gracePeriod" .values }}
  containers:
    - name: {{ .process }}
      image: {{ include "hookline.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [src/{{ .process }}/main.ts]
      env: {{ include "hookline.env" . | trim | nindent 8 }}
      ports:
        {{- if eq .process "ingress" }}
        - { name: webhooks, containerPort: 8080 }
        {{- end }}
        - { name: metrics, containerPort: 9464 }
      {{- include "hookline.adminProbes" . | nindent 6 }}
      resources: {{ toYaml .values.resources | nindent 8 }}
      {{- include "hookline.containerSecurity" . | nindent 6 }}
      volumeMounts: {{ include "hookline.mounts" . | trim | nindent 8 }}
  volumes: {{ include "hookline.volumes" . | trim | nindent 4 }}
  topologySpreadConstraints: {{ include "hookline.topologySpread" (dict "root" .root "component" .process "constraints" .values.topologySpreadConstraints "isSet" .isSet) | trim | nindent 4 }}
  {{- $scheduling := .values }}
  {{- if and (kindIs "invalid" .values.topologySpreadConstraints) (not (hasKey (.values.affinity | default dict) "podAntiAffinity")) }}
  {{- $apart := include "hookline.apartInZones" (dict "root" .root "component" .process) | fromYaml }}
  {{- $scheduling = merge (dict "affinity" (dict "podAntiAffinity" $apart)) (deepCopy .values) }}
  {{- end }}
  {{- include "hookline.scheduling" $scheduling | nindent 2 }}
{{- end -}}
