{{/* A dict of root and component. */}}
{{- define "koordpy.clusterRoleBinding" -}}
{{- $name := printf "%s-%s" (include "koordpy.fullname" .root) .component -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  labels:
    {{- include "koordpy.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
subjects:
- kind: ServiceAccount
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{/* A dict of root, component and lease: the right to hold it, where it is. */}}
{{- define "koordpy.leaderElection" -}}
{{- $name := printf "%s-%s" (include "koordpy.fullname" .root) .component -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}-leader-election
  namespace: {{ include "koordpy.leaseNamespace" .root }}
  labels:
    {{- include "koordpy.labels" . | nindent 4 }}
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]  # a create cannot be limited to a name
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ .lease }}]
  verbs: [get, update]
{{- with .rules }}
{{ . }}
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}-leader-election
  namespace: {{ include "koordpy.leaseNamespace" .root }}
  labels:
    {{- include "koordpy.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}-leader-election
subjects:
- kind: ServiceAccount
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{/* What the scheduler has learnt about run times is kept beside its lease. */}}
{{- define "koordpy.runTimes" -}}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]  # a create cannot be limited to a name
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [koordpy-run-times]  # what earlier runs took, for expected starts
  verbs: [get, patch]
{{- end -}}
