//go:build manifests

package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// kedaVersion is that of the definitions that the manifests are held against.
const kedaVersion = "v2.17.2"

// scaledJob is what the test reads of KEDA's.
type scaledJob struct {
	MaxReplicaCount int                       `yaml:"maxReplicaCount"`
	ScalingStrategy struct{ Strategy string } `yaml:"scalingStrategy"`
	Triggers        []struct {
		Type              string
		Metadata          map[string]string
		AuthenticationRef struct{ Name string } `yaml:"authenticationRef"`
	}
	JobTargetRef map[string]any `yaml:"jobTargetRef"`
}

// Pilots by KEDA ask what the API has, start with flags that there are, and have time to give their jobs back.
func TestKubernetesPilots(t *testing.T) {
	text, objects := built(t, "pilots")
	for _, name := range []string{"Namespace divvy-pilots", "NetworkPolicy pilots", "ScaledJob divvy-pilots", "TriggerAuthentication divvy-pilots"} {
		if _, is := objects[name]; !is {
			t.Errorf("there is no %s", name)
		}
	}
	var s scaledJob
	for _, doc := range documents(t, text) {
		kind := doc["kind"].(string)
		if !strings.HasPrefix(doc["apiVersion"].(string), "keda.sh/") {
			continue
		}
		if all := faults(definition(t, kind), doc, kind); len(all) > 0 {
			t.Errorf("KEDA %s does not take: %s", kedaVersion, strings.Join(all, ", "))
		}
		if kind == "ScaledJob" {
			part, err := yaml.Marshal(doc["spec"])
			if err == nil {
				err = yaml.Unmarshal(part, &s)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(s.Triggers) != 1 {
		t.Fatalf("%d triggers", len(s.Triggers))
	}
	trigger := s.Triggers[0]
	if m := trigger.Metadata; s.ScalingStrategy.Strategy != "default" || trigger.Type != "metrics-api" || m["targetValue"] != "1" || m["valueLocation"] != "wanted" ||
		trigger.AuthenticationRef.Name != "divvy-pilots" {
		t.Errorf("%+v", s)
	}
	checkPilots(t, trigger.Metadata["url"], s)
	// kube-score knows no ScaledJob, but the Jobs that KEDA makes of it.
	job := map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "divvy-pilots", "namespace": "divvy-pilots"}, "spec": s.JobTargetRef}
	made, err := yaml.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	tool(t, append([]byte(text+"\n---\n"), made...), "kube-score", "score", "--exit-one-on-warning", "--ignore-test", "container-image-pull-policy", "-")
}

// checkPilots holds the command of a pilot and the question that is asked about its queue against the API and the flags that there are.
func checkPilots(t *testing.T, url string, s scaledJob) {
	t.Helper()
	var job struct{ Template struct{ Spec pod } }
	part, err := yaml.Marshal(s.JobTargetRef)
	if err == nil {
		err = yaml.Unmarshal(part, &job)
	}
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Paths map[string]any
	}
	if err := json.Unmarshal([]byte(read(t, "../api/openapi.json")), &api); err != nil {
		t.Fatal(err)
	}
	asks := regexp.MustCompile(`^(http://divvy\.divvy\.svc:8470)/v1/queues/(\w+)/wanted$`).FindStringSubmatch(url)
	if asks == nil || api.Paths["/v1/queues/{name}/wanted"] == nil {
		t.Fatalf("%s is nothing of the API", url)
	}
	flags := map[string]string{}
	command := read(t, "../cmd/divvy/pilot.go")
	for _, arg := range job.Template.Spec.Containers[0].Args {
		name, value, _ := strings.Cut(arg, "=")
		if flags[name] = value; !strings.Contains(command, `"`+strings.TrimPrefix(name, "--")+`"`) && name != "--server" && name != "--token-file" {
			t.Errorf("divvy pilot has no flag %s", name)
		}
	}
	if flags["--server"] != asks[1] || flags["--queue"] != asks[2] {
		t.Errorf("pilots of queue %s at %s, and %s is asked", flags["--queue"], flags["--server"], url)
	}
	drain, err := time.ParseDuration(flags["--drain-within"])
	// Jobs get SIGTERM then, and SIGKILL after 10 s; the report needs a moment.
	if grace := job.Template.Spec.TerminationGracePeriodSeconds; err != nil || grace < int(drain.Seconds())+10+15 {
		t.Errorf("jobs may go on for %s of a grace of %d s", drain, grace)
	}
}

// documents are those of a YAML stream.
func documents(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for _, part := range strings.Split(text, "\n---\n") {
		doc := map[string]any{}
		if err := yaml.Unmarshal([]byte(part), &doc); err != nil {
			t.Fatal(err)
		}
		all = append(all, doc)
	}
	return all
}

// definition is the schema of a kind of KEDA's, as its module has it.
func definition(t *testing.T, kind string) map[string]any {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/kedacore/keda/v2@"+kedaVersion)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if bad := json.Unmarshal(out, &module); err != nil || bad != nil {
		t.Fatalf("definitions of KEDA: %v, %s", err, module.Error)
	}
	file := filepath.Join(module.Dir, "config/crd/bases/keda.sh_"+strings.ToLower(kind)+"s.yaml")
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Open map[string]any `yaml:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, file)), &crd); err != nil || len(crd.Spec.Versions) != 1 {
		t.Fatalf("%s: %v", file, err)
	}
	return crd.Spec.Versions[0].Schema.Open
}

// faults are where a value is not as a schema of Kubernetes has it: unknown keys, those that are missing, other types.
func faults(schema map[string]any, value any, at string) (all []string) {
	part := func(of any, value any, at string) {
		if s, ok := of.(map[string]any); ok {
			all = append(all, faults(s, value, at)...)
		} else if schema["x-kubernetes-preserve-unknown-fields"] != true {
			all = append(all, at)
		}
	}
	switch v := value.(type) {
	case map[string]any:
		known, _ := schema["properties"].(map[string]any)
		for key, of := range v {
			s, is := known[key]
			if !is {
				s = schema["additionalProperties"]
			}
			if at == "ScaledJob" && key == "metadata" || at == "TriggerAuthentication" && key == "metadata" {
				continue
			}
			part(s, of, at+"."+key)
		}
		required, _ := schema["required"].([]any)
		for _, key := range required {
			if _, is := v[key.(string)]; !is {
				all = append(all, fmt.Sprintf("%s without %s", at, key))
			}
		}
	case []any:
		for i, each := range v {
			part(schema["items"], each, fmt.Sprintf("%s[%d]", at, i))
		}
	default:
		is := map[string]any{"string": "string", "int": "integer", "bool": "boolean"}[fmt.Sprintf("%T", v)]
		if enum, ok := schema["enum"].([]any); schema["type"] != is && schema["x-kubernetes-int-or-string"] != true || ok && !slices.Contains(enum, value) {
			all = append(all, fmt.Sprintf("%s: %v", at, v))
		}
	}
	slices.Sort(all)
	return all
}

// What KEDA would refuse is found.
func TestKubernetesPilotsFindsFaults(t *testing.T) {
	text, _ := built(t, "pilots")
	for old, wrong := range map[string]string{"jobTargetRef:": "jobTargetRefs:", "maxReplicaCount: 100": "maxReplicaCount: many", "backoffLimit:": "backofLimit:"} {
		for _, doc := range documents(t, strings.Replace(text, old, wrong, 1)) {
			if doc["kind"] == "ScaledJob" && len(faults(definition(t, "ScaledJob"), doc, "ScaledJob")) == 0 {
				t.Errorf("%s is not found", wrong)
			}
		}
	}
}
