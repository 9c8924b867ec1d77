{{- define "koordpy.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* The beginning of all names: the release, which often is called koordpy itself. */}}
{{- define "koordpy.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "koordpy.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "koordpy.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* A dict of root and component. */}}
{{- define "koordpy.selector" -}}
app.kubernetes.io/name: {{ include "koordpy.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "koordpy.labels" -}}
app.kubernetes.io/name: {{ include "koordpy.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: koordpy
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "koordpy.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "koordpy.leaseNamespace" -}}
{{- dig "leaderElection" "resourceNamespace" "kube-system" .Values.config -}}
{{- end -}}

{{- define "koordpy.leaseName" -}}
{{- dig "leaderElection" "resourceName" "koord-scheduler" .Values.config -}}
{{- end -}}

{{- define "koordpy.config" -}}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
{{ toYaml .Values.config }}
{{- end -}}

{{- define "koordpy.tlsSecret" -}}
{{- default (printf "%s-tls" (include "koordpy.fullname" .)) .Values.tls.secretName -}}
{{- end -}}

{{/* A dict of root, component, command, port and values: the Deployment of the scheduler or of the controllers. */}}
{{- define "koordpy.deployment" -}}
{{- $name := printf "%s-%s" (include "koordpy.fullname" .root) .component -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "koordpy.labels" . | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  strategy:
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}  # there is always one that knows everything and can lead
  selector:
    matchLabels:
      {{- include "koordpy.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "koordpy.labels" . | nindent 8 }}
        {{- with .values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        checksum/config: {{ include "koordpy.config" .root | sha256sum }}
        {{- with .values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ $name }}
      schedulerName: default-scheduler  # not by itself: it could not start when it is needed
      {{- with .values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if .values.affinity }}
      affinity:
        {{- toYaml .values.affinity | nindent 8 }}
      {{- else }}
      affinity:
        podAntiAffinity:  # a wish: a spread over zones would switch the one over nodes off where nodes name no zone
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 10
              podAffinityTerm:
                topologyKey: topology.kubernetes.io/zone
                labelSelector:
                  matchLabels:
                    {{- include "koordpy.selector" . | nindent 20 }}
      {{- end }}
      topologySpreadConstraints:
        {{- if .values.topologySpreadConstraints }}
        {{- toYaml .values.topologySpreadConstraints | nindent 8 }}
        {{- else }}
        - topologyKey: kubernetes.io/hostname
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "koordpy.selector" . | nindent 14 }}
          matchLabelKeys: [pod-template-hash]  # an upgrade spreads the new ones, whatever the old ones do
        {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      initContainers:
        - name: config-check  # names every mistake at once, and the replicas of before go on
          image: {{ include "koordpy.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [config, check, /etc/koordpy/config.yaml]
          {{- with .values.extraEnv }}
          env:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: config, mountPath: /etc/koordpy, readOnly: true}
            {{- with .values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      containers:
        - name: koordpy
          image: {{ include "koordpy.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args:
            - {{ .command }}
            - --config=/etc/koordpy/config.yaml
            - --port={{ .port }}
            - --log-format=json
            - --log-level={{ .values.logLevel }}
            {{- if .root.Values.tls.enabled }}
            - --tls-cert-file=/etc/koordpy-tls/tls.crt
            - --tls-private-key-file=/etc/koordpy-tls/tls.key
            {{- end }}
            {{- if eq .component "scheduler" }}
            - --authorization={{ .root.Values.authorization.enabled | ternary "delegated" "off" }}
            {{- with .root.Values.authorization.alwaysAllowPaths }}
            - --authorization-always-allow-paths={{ join "," . }}
            {{- end }}
            {{- end }}
            {{- range .values.extraArgs }}
            - {{ . | quote }}
            {{- end }}
          {{- with .values.extraEnv }}
          env:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          ports:
            - {name: http, containerPort: {{ .port }}}
          {{- $scheme := .root.Values.tls.enabled | ternary "HTTPS" "HTTP" }}
          livenessProbe:  # fails only if the event loop stands still; planning for a large cluster takes its seconds
            httpGet: {path: /livez, port: http, scheme: {{ $scheme }}}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:  # everything is known and watched; those that stand by are ready too
            httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
            periodSeconds: 5
            timeoutSeconds: 5
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: config, mountPath: /etc/koordpy, readOnly: true}
            - {name: tmp, mountPath: /tmp}  # Python's own temporary files
            {{- if .root.Values.tls.enabled }}
            - {name: tls, mountPath: /etc/koordpy-tls, readOnly: true}
            {{- end }}
            {{- with .values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: config
          configMap: {name: {{ include "koordpy.fullname" .root }}-config}
        - name: tmp
          emptyDir: {sizeLimit: 64Mi}
        {{- if .root.Values.tls.enabled }}
        - name: tls
          secret: {secretName: {{ include "koordpy.tlsSecret" .root }}, defaultMode: 0440}
        {{- end }}
        {{- with .values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}
