{{/* A service of this chart: {root, name, values, environment, port, live, ready, journal}. `journal`: each pod has its own volume. */}}
{{- define "upfront.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{/* The pods' service account; empty for the namespace's default. */}}
{{- define "upfront.account" -}}
{{- $account := .values.serviceAccount -}}
{{- if $account.create -}}{{ default (printf "%s-%s" .root.Release.Name .name) $account.name }}{{- else -}}{{ $account.name }}{{- end -}}
{{- end }}

{{- define "upfront.workload" -}}
{{- $name := printf "%s-%s" .root.Release.Name .name -}}
{{- $account := include "upfront.account" . -}}
{{- $files := .values.files.keys -}}
apiVersion: apps/v1
kind: {{ .journal | ternary "StatefulSet" "Deployment" }}
metadata:
  name: {{ $name }}
  labels: {{- include "upfront.labels" . | nindent 4 }}
spec:
  {{- if not (dig "autoscaling" "enabled" false .values) }}
  replicas: {{ .values.replicas }}
  {{- end }}
  {{- if .journal }}
  serviceName: {{ $name }}
  podManagementPolicy: Parallel
  {{- end }}
  selector:
    matchLabels: {{- include "upfront.labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "upfront.labels" . | nindent 8 }}
      {{- with .values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      # Longer than the service's own shutdown time-out.
      terminationGracePeriodSeconds: 30
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile: { type: RuntimeDefault }
      automountServiceAccountToken: false
      {{- with $account }}
      serviceAccountName: {{ . }}
      {{- end }}
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - { name: {{ . }} }
        {{- end }}
      {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.topologySpreadConstraints }}
      topologySpreadConstraints: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ printf "%s:%s" .values.image.repository (default .root.Chart.AppVersion .values.image.tag) | quote }}
          securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
          envFrom:
            - secretRef: { name: {{ .values.existingSecret }} }
          {{- if or .environment $files }}
          env:
            {{- range $key, $value := .environment }}
            - { name: {{ $key }}, value: {{ $value | quote }} }
            {{- end }}
            {{- range $variable, $key := $files }}
            - { name: {{ $variable }}, value: {{ printf "/etc/upfront/%s" $key | quote }} }
            {{- end }}
          {{- end }}
          ports:
            - { name: http, containerPort: {{ .port }} }
          # Waits because Endpoints are updated only after the pod is told to stop.
          lifecycle: { preStop: { exec: { command: [node, -e, 'setTimeout(() => {}, 5000)'] } } }
          livenessProbe: { httpGet: { path: {{ .live }}, port: http }, periodSeconds: 10, timeoutSeconds: 3 }
          readinessProbe: { httpGet: { path: {{ .ready }}, port: http }, periodSeconds: 5, timeoutSeconds: 3 }
          resources: {{- toYaml .values.resources | nindent 12 }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            {{- if .journal }}
            - { name: journal, mountPath: /data }
            {{- end }}
            {{- if $files }}
            - { name: files, mountPath: /etc/upfront, readOnly: true }
            {{- end }}
      volumes:
        - { name: tmp, emptyDir: {} }
        {{- if $files }}
        - name: files
          secret:
            secretName: {{ required (printf "%s.files.existingSecret: the Secret that holds the files" .name) .values.files.existingSecret }}
            defaultMode: 0440
        {{- end }}
  {{- if .journal }}
  volumeClaimTemplates:
    - metadata: { name: journal }
      spec:
        accessModes: [ReadWriteOnce]
        {{- with .values.journal.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources: { requests: { storage: {{ .values.journal.size }} } }
  {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{- include "upfront.labels" . | nindent 4 }}
spec:
  type: {{ dig "service" "type" "ClusterIP" .values }}
  selector: {{- include "upfront.labels" . | nindent 4 }}
  ports:
    - { name: http, port: {{ dig "service" "port" .port .values }}, targetPort: http }
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "upfront.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "upfront.labels" . | nindent 6 }}
{{- if .values.serviceAccount.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $account }}
  labels: {{- include "upfront.labels" . | nindent 4 }}
  {{- with .values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- if .root.Values.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ $name }}
  labels: {{- include "upfront.labels" . | nindent 4 }}
spec:
  selector:
    matchLabels: {{- include "upfront.labels" . | nindent 6 }}
  endpoints:
    - { port: http, path: /metrics, interval: {{ .root.Values.serviceMonitor.interval }} }
{{- end }}
{{- end }}
