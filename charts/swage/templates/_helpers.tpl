{{/* Names are fixed: one installation a namespace, so that pods in other namespaces find their objects. */}}

{{- define "swage.watchNamespaces" -}}
{{- .Values.watchNamespaces | default (list .Release.Namespace) | uniq | toJson -}}
{{- end -}}

{{- define "swage.poolNamespaces" -}}
{{- .Values.poolNamespaces | default (list (printf "%s-pool" .Release.Name)) | uniq | toJson -}}
{{- end -}}

{{/* Namespaces in which the controller works. */}}
{{- define "swage.workNamespaces" -}}
{{- concat (include "swage.watchNamespaces" . | fromJsonArray) (include "swage.poolNamespaces" . | fromJsonArray) | uniq | toJson -}}
{{- end -}}

{{- define "swage.allNamespaces" -}}
{{- concat (list .Release.Namespace) (include "swage.workNamespaces" . | fromJsonArray) | uniq | toJson -}}
{{- end -}}

{{- define "swage.labels" -}}
app.kubernetes.io/name: swage
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: swage
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* (context, component): what selects our own pods. */}}
{{- define "swage.selector" -}}
app.kubernetes.io/name: swage
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
swage.dev/component: {{ index . 1 }}
{{- end -}}

{{/* (context, key of .Values.images): a full reference; a digest wins over the tag. */}}
{{- define "swage.image" -}}
{{- $root := index . 0 -}}
{{- $image := index $root.Values.images (index . 1) -}}
{{- $name := printf "%s/%s" $root.Values.global.imageRegistry $image.repository -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name ($root.Values.image.tag | default $root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{/* Parts that every pod of the chart has. */}}
{{- define "swage.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "swage.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "swage.scheduling" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "swage.accountAnnotations" -}}
{{- with .Values.serviceAccount.annotations }}
  annotations: {{ toJson . }}
{{- end }}
{{- end -}}

{{- define "swage.sandboxPriority" -}}
{{- $class := .Values.sandbox.priorityClass -}}
{{- $class.name | default (ternary "swage-sandbox" "" $class.create) -}}
{{- end -}}

{{- define "swage.redisHost" -}}
swage-redis.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}
{{- end -}}

{{/*
Secrets made once: what the release's namespace already has, else random. Kept in .Values so that one
rendering says the same everywhere. (context, secret, key)
*/}}
{{- define "swage.generated" -}}
{{- $root := index . 0 -}}
{{- $kept := $root.Values._generated | default dict -}}
{{- $id := printf "%s/%s" (index . 1) (index . 2) -}}
{{- if not (hasKey $kept $id) -}}
{{- $found := lookup "v1" "Secret" $root.Release.Namespace (index . 1) -}}
{{- $value := "" -}}
{{- if $found -}}{{- $value = index ($found.data | default dict) (index . 2) | default "" | b64dec -}}{{- end -}}
{{- $_ := set $kept $id ($value | default (randAlphaNum 48)) -}}
{{- $_ := set $root.Values "_generated" $kept -}}
{{- end -}}
{{- index $kept $id -}}
{{- end -}}

{{/* (context, value's name, API version with kind): a kind that is wanted must be there. */}}
{{- define "swage.needs" -}}
{{- if not ((index . 0).Capabilities.APIVersions.Has (index . 2)) -}}
{{- fail (printf "%s needs %s, which this cluster does not have: install its operator first, or leave it false" (index . 1) (index . 2)) -}}
{{- end -}}
{{- end -}}

{{/* (context, weight, hook): labels and annotations of what exists during that hook only. */}}
{{- define "swage.hook" }}
  labels:
    {{- include "swage.labels" (index . 0) | nindent 4 }}
    swage.dev/component: hook
  annotations:
    helm.sh/hook: {{ index . 2 }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    helm.sh/hook-weight: {{ index . 1 | quote }}
{{- end -}}

{{- define "swage.metricsLabels" }}
    {{- include "swage.labels" . | nindent 4 }}
    {{- with .Values.metrics.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
