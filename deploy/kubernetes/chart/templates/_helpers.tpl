{{- define "muster.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "muster.selector" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "muster.labels" -}}
{{ include "muster.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* Of the root and the key of an image. */}}
{{- define "muster.image" -}}
{{- $root := index . 0 -}}
{{- $image := index $root.Values (index . 1) -}}
{{- $version := printf ":%s" ($image.tag | default $root.Chart.AppVersion) -}}
{{- if $image.digest -}}
{{- $version = printf "@%s" $image.digest -}}
{{- end -}}
image: {{ $image.repository }}{{ $version }}
imagePullPolicy: {{ $root.Values.imagePullPolicy }}
{{- end -}}

{{- define "muster.jobName" -}}
{{ include "muster.name" . }}-{{ .Values.job.command | replace "_" "-" | replace "," "-" | trunc 16 | trimSuffix "-" }}
{{- end -}}

{{/* The container of a rank or a worker: `name`, `command`, `environment` (rendered), `ssh`. */}}
{{- define "muster.rankContainer" -}}
- name: {{ .name }}
  {{- include "muster.image" (list .root "benchImage") | nindent 2 }}
  command: {{ toJson .command }}
  env:
    {{- range $name, $value := .root.Values.node.env }}
    - {name: {{ $name }}, value: {{ $value | quote }}}
    {{- end }}
    {{- with .environment }}
    {{- . | nindent 4 }}
    {{- end }}
  resources:
    {{- $resources := dict .root.Values.node.gpuResource (toString .root.Values.node.gpus) }}
    {{- with .root.Values.node.rdmaResource }}
    {{- $_ := set $resources . (toString $.root.Values.node.rdmaCount) }}
    {{- end }}
    requests: {{ toJson $resources }}
    limits: {{ toJson $resources }}
  # IPC_LOCK: NCCL registers memory with the HCAs, and silently takes TCP if it may not. sshd needs what containers
  # have by default.
  securityContext:
    {{- if .ssh }}
    capabilities: {add: [IPC_LOCK]}
    {{- else }}
    allowPrivilegeEscalation: false
    capabilities: {add: [IPC_LOCK], drop: [ALL]}
    {{- end }}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    - {name: shared-memory, mountPath: /dev/shm}
    {{- with .root.Values.node.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* The rest of the pod: one on each node. */}}
{{- define "muster.wholeNode" -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .root.Values.node.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .root.Values.node.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector: {matchLabels: {{ toJson .labels }}}
  {{- with .domain }}
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: {{ . }}
        labelSelector: {matchLabels: {{ toJson $.labels }}}
  {{- end }}
volumes:
  - name: shared-memory
    emptyDir: {medium: Memory, sizeLimit: {{ .root.Values.node.sharedMemory }}}
  {{- with .root.Values.node.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
