package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// Dependency is a job that must be over first.
type Dependency struct {
	Job int64
	OK  bool // with exit code 0
}

// ParseDependencies reads afterok:1:2,afterany:3. What divvy cannot do exactly is refused by name.
func ParseDependencies(text string) (all []Dependency, err error) {
	if strings.Contains(text, "?") {
		return nil, fmt.Errorf("Job dependency problem: %q: one of several (?) is not known to divvy; give all, with commas", text)
	}
	for part := range strings.SplitSeq(text, ",") {
		kind, ids, _ := strings.Cut(part, ":")
		switch kind = strings.ToLower(kind); kind {
		case "afterok", "afterany":
		case "after", "afternotok", "aftercorr", "afterburstbuffer", "singleton", "expand":
			return nil, fmt.Errorf("Job dependency problem: %s is not known to divvy: afterok and afterany are", kind)
		default:
			if _, err := strconv.ParseUint(part, 10, 63); err != nil {
				return nil, fmt.Errorf("Job dependency problem: %q: expected afterok:ID or afterany:ID", part)
			}
			kind, ids = "afterany", part // an id alone, as of old
		}
		for id := range strings.SplitSeq(ids, ":") {
			n, err := strconv.ParseInt(strings.TrimSuffix(id, "_*"), 10, 64)
			if err != nil || n < 1 || n >= RawBase {
				return nil, fmt.Errorf("Job dependency problem: %q is not the id of a whole job, such as 12", id)
			}
			all = append(all, Dependency{Job: n, OK: kind == "afterok"})
		}
	}
	return unique(all), nil
}

// unique keeps the stronger of two conditions on the same job.
func unique(all []Dependency) (out []Dependency) {
	at := map[int64]int{}
	for _, d := range all {
		if i, known := at[d.Job]; known {
			out[i].OK = out[i].OK || d.OK
			continue
		}
		at[d.Job] = len(out)
		out = append(out, d)
	}
	return out
}
