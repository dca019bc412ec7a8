// Reads Kubernetes manifests (YAML, several documents) from standard input and decodes each strictly as Kubernetes' own type: a field
// that the type does not have, or one that is given twice, is an error. Prints the kinds, one a line.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func typeOf(apiVersion, kind string) any {
	switch apiVersion + " " + kind {
	case "v1 Service":
		return &corev1.Service{}
	case "v1 ServiceAccount":
		return &corev1.ServiceAccount{}
	case "apps/v1 StatefulSet":
		return &appsv1.StatefulSet{}
	case "networking.k8s.io/v1 Ingress":
		return &networkingv1.Ingress{}
	case "apps/v1 Deployment":
		return &appsv1.Deployment{}
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return &autoscalingv2.HorizontalPodAutoscaler{}
	case "networking.k8s.io/v1 NetworkPolicy":
		return &networkingv1.NetworkPolicy{}
	case "policy/v1 PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}
	}
	return nil
}

func decode(document []byte) (string, error) {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(document, &meta); err != nil {
		return "", err
	}
	if meta.Kind == "" {
		return "", nil
	}
	into := typeOf(meta.APIVersion, meta.Kind)
	if into == nil {
		return "", fmt.Errorf("%s %s: not a type that is known here", meta.APIVersion, meta.Kind)
	}
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		return "", fmt.Errorf("%s: %w", meta.Kind, err)
	}
	return meta.Kind, nil
}

func main() {
	failed := false
	reader := yamlreader.NewYAMLReader(bufio.NewReader(os.Stdin))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		kind := ""
		if err == nil {
			kind, err = decode(document)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			failed = true
			if document == nil {
				break
			}
			continue
		}
		if kind != "" {
			fmt.Println(kind)
		}
	}
	if failed {
		os.Exit(1)
	}
}
