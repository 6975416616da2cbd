package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// specLimits bound a file of tasks. Longer lists of inputs belong into an inputs_file.
var specLimits = strict.Limits{Bytes: 32 << 20, Depth: 20, Values: 2_000_000}

// ParseSpecs reads a file of tasks: YAML, several documents with --- between them, or JSON as a kind of YAML.
// Empty documents are passed over. The error is strict.Problems: every fault with file, line and column.
func ParseSpecs(name string, src []byte) ([]Spec, error) {
	docs, report := strict.Parse(name, src, specLimits)
	var specs []Spec
	var seen []strict.Seen
	for _, doc := range docs {
		if report.Full() {
			break
		}
		if doc.IsNull() {
			continue
		}
		s, at := readSpec(doc)
		specs, seen = append(specs, s), append(seen, at)
	}
	for _, f := range fileFaults(specs) {
		locate(seen[f.doc].At("needs"), strings.TrimPrefix(f.Field, "needs")).Fail(f.Field+" "+f.Message, f.Hint)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	if len(specs) == 0 {
		report.Add("no task in this file", "a task has a name, a user, a command and, for instance, a count")
		return nil, report.Err()
	}
	return specs, nil
}

// readSpec reads one document and puts what Check finds at the key that it is about.
func readSpec(doc strict.Value) (s Spec, seen strict.Seen) {
	seen = doc.Mapping(s.fields())
	if !seen.IsMapping() {
		return s, seen
	}
	var faults Faults
	errors.As(s.Check(), &faults)
	places := make([]strict.Value, len(faults))
	for i, f := range faults {
		if slices.ContainsFunc(f.absent, seen.Has) {
			continue // it is there, and what is wrong with it has been said
		}
		key, _, _ := strings.Cut(f.Field, ".")
		key, _, _ = strings.Cut(key, "[")
		places[i] = seen.At(key)
		if nested[key] && seen.Has(key) && i < maxLocated {
			places[i] = locate(places[i], strings.TrimPrefix(f.Field, key))
		}
	}
	for i, f := range faults {
		places[i].Fail(f.Field+" "+f.Message, f.Hint)
	}
	return s, seen
}

// fields is the one list of the keys of a task in YAML.
func (s *Spec) fields() strict.Fields {
	text := func(to *string) func(strict.Value) {
		return func(v strict.Value) { *to, _ = v.Text() }
	}
	whole := func(to *int64, low int64) func(strict.Value) {
		return func(v strict.Value) { *to, _ = v.Int(low, 1<<62) }
	}
	texts := func(to *[]string) func(strict.Value) {
		return func(v strict.Value) { *to, _ = v.Strings() }
	}
	some := func(to *[]string) func(strict.Value) {
		return func(v strict.Value) {
			var ok bool
			if *to, ok = v.Strings(); ok && len(*to) == 0 {
				v.Failf("%s is empty", v.Name())
			}
		}
	}
	named := func(to *string) func(strict.Value) {
		return func(v strict.Value) { *to, _ = v.NonEmpty() }
	}
	table := func(to *map[string]string) func(strict.Value) {
		return func(v strict.Value) { *to, _ = v.StringMap() }
	}
	return strict.Fields{
		"name": named(&s.Name), "user": named(&s.User), "label": text(&s.Label), "working_group": text(&s.WorkingGroup),
		"campaign": text(&s.Campaign), "processing_type": text(&s.ProcessingType), "transformation": text(&s.Transformation),
		"resource_type": text(&s.ResourceType), "vo": text(&s.VO), "labels": table(&s.Labels), "share": text(&s.Share),
		"priority": func(v strict.Value) {
			n, _ := v.Int(-MaxPriority, MaxPriority)
			s.Priority = int(n)
		},
		"max_attempts": func(v strict.Value) {
			n, _ := v.Int(1, maxAttemptsCap)
			s.MaxAttempts = int(n)
		},
		"max_failures":     attemptsOf(&s.MaxFailures),
		"backoff":          waited(&s.Backoff),
		"max_backoff":      waited(&s.MaxBackoff),
		"quarantine_after": attemptsOf(&s.QuarantineAfter),
		"requirements":     func(v strict.Value) { v.Mapping(s.Requirements.fields()) },
		"queues":           texts(&s.Queues),
		"command":          some(&s.Command),
		"env":              table(&s.Env),
		"count":            whole(&s.Count, 1),
		"inputs":           readInputList(&s.Inputs),
		"inputs_file":      named(&s.InputsFile),
		"per_job":          whole(&s.PerJob, 1),
		"events": func(v strict.Value) {
			s.Events = &Events{}
			v.Mapping(strict.Fields{"total": whole(&s.Events.Total, 1), "per_job": whole(&s.Events.PerJob, 1)}).Require("total")
		},
		"deadline": func(v strict.Value) { s.Deadline = readTime(v) },
		"boost": func(v strict.Value) {
			n, _ := v.Int(1, MaxPriority)
			s.Boost = int(n)
		},
		"split": readSplit(&s.Split),
		"scout": func(v strict.Value) {
			n, _ := v.Int(1, MaxScouts)
			s.Scout = int(n)
		},
		"needs": each(&s.Needs, readNeed),
		"locality": func(v strict.Value) {
			s.Locality, _ = v.OneOf(job.LocalityRequired, job.LocalityPreferred)
		},
		"matrix":          func(v strict.Value) { s.Matrix = readMatrix(v) },
		"resources":       units(&s.Resources),
		"io_intensity":    func(v strict.Value) { s.IOIntensity = readIO(v) },
		"sharing_id":      named(&s.SharingID),
		"replicas":        replicas(&s.Replicas),
		"groups":          each(&s.Groups, readGroup),
		"roles":           each(&s.Roles, readMember),
		"claim_templates": each(&s.ClaimTemplates, readClaimTemplate),
		"sharing":         each(&s.Sharing, readSharing),
	}
}

func (r *Requirements) fields() strict.Fields {
	whole := func(to *int64) func(strict.Value) {
		return func(v strict.Value) { *to, _ = v.Int(0, maxMegabytes) }
	}
	return strict.Fields{
		"cores": func(v strict.Value) {
			n, _ := v.Int(1, maxCores)
			r.Cores = int(n)
		},
		"memory_mb": whole(&r.MemoryMB), "disk_mb": whole(&r.DiskMB),
		"walltime": func(v strict.Value) {
			if d, ok := v.Duration(time.Second); ok {
				if err := r.Walltime.UnmarshalText([]byte(d.String())); err != nil {
					v.Fail(err.Error(), "")
				}
			}
		},
		"labels": func(v strict.Value) { r.Labels, _ = v.StringMap() },
	}
}

// readIO reads MB/s.
func readIO(v strict.Value) float64 {
	m, ok := v.Milli()
	if ok && m == 0 {
		v.Fail("io_intensity is zero", "leave it out: then no max_io keeps the jobs back")
	}
	return float64(m) / 1000
}

// attemptsOf reads a number of attempts.
func attemptsOf(to *int) func(strict.Value) {
	return func(v strict.Value) {
		n, _ := v.Int(1, maxAttemptsCap)
		*to = int(n)
	}
}

// waited reads a time that a job waits between attempts.
func waited(to *Walltime) func(strict.Value) {
	return func(v strict.Value) {
		d, ok := v.Duration(time.Second)
		if *to = Walltime(d / time.Second); ok && d%time.Second != 0 {
			v.Failf("%s: %s is not a whole number of seconds", v.Name(), d)
		}
	}
}

// readMatrix takes a mapping from axis to values, in the file's order, or the API's list of name and values.
func readMatrix(v strict.Value) []job.Axis {
	var axes []job.Axis
	if v.IsList() {
		list, _ := v.List()
		for _, e := range list {
			var a job.Axis
			e.Mapping(strict.Fields{
				"name":   func(v strict.Value) { a.Name, _ = v.NonEmpty() },
				"values": func(v strict.Value) { a.Values, _ = v.Strings() },
			}).Require("name", "values")
			axes = append(axes, a)
		}
		return axes
	}
	v.Entries(func(name string, _, val strict.Value) {
		values, _ := val.Strings()
		axes = append(axes, job.Axis{Name: name, Values: values})
	})
	if v.IsMapping() && len(axes) == 0 {
		v.Failf("%s is empty", v.Name())
	}
	return axes
}

// Canonical is the task as it is hashed and kept: the same for all ways of writing the same.
func (s Spec) Canonical() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// readTime takes a moment with its zone.
func readTime(v strict.Value) *time.Time {
	text, ok := v.Text()
	if !ok {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		v.Fail(fmt.Sprintf("%.40q is no moment", text), "such as 2026-12-24T18:00:00Z or 2026-12-24T18:00:00+01:00")
		return nil
	}
	at = at.UTC()
	return &at
}
