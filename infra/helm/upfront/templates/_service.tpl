{{/* A service of this chart: {root, name, values, port, live, ready}. */}}
{{- define "upfront.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "upfront.deployment" -}}
{{- $name := printf "%s-%s" .root.Release.Name .name -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "upfront.labels" . | nindent 4 }}
spec:
  {{- if not (dig "autoscaling" "enabled" false .values) }}
  replicas: {{ .values.replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "upfront.labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "upfront.labels" . | nindent 8 }}
    spec:
      # Above the service's own time to finish what is in flight.
      terminationGracePeriodSeconds: 30
      securityContext: { runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, seccompProfile: { type: RuntimeDefault } }
      containers:
        - name: {{ .name }}
          image: {{ printf "%s:%s" .values.image.repository (default .root.Chart.AppVersion .values.image.tag) | quote }}
          securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
          envFrom:
            - secretRef: { name: {{ .values.existingSecret }} }
          {{- with .environment }}
          env:
            {{- range $key, $value := . }}
            - { name: {{ $key }}, value: {{ $value | quote }} }
            {{- end }}
          {{- end }}
          ports:
            - { name: http, containerPort: {{ .port }} }
          # Endpoints hear of the end of a pod later than the pod does.
          lifecycle: { preStop: { exec: { command: [node, -e, 'setTimeout(() => {}, 5000)'] } } }
          livenessProbe: { httpGet: { path: {{ .live }}, port: http }, periodSeconds: 10, timeoutSeconds: 3 }
          readinessProbe: { httpGet: { path: {{ .ready }}, port: http }, periodSeconds: 5, timeoutSeconds: 3 }
          resources: {{- toYaml .values.resources | nindent 12 }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
      volumes:
        - { name: tmp, emptyDir: {} }
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
