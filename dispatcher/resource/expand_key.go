package resource

import (
	"fmt"
	"strconv"
	"strings"
)

// every stands in a key for all replicas, or for a level that the key does not reach.
const every = -1

// ClaimKey says which claim of a task it is. It stays the same while the task is scaled up and down, so it is how a job
// finds its claims again. At most one claim of a task with the same key is pending or bound; those that drain or are
// released may have had it before.
type ClaimKey struct {
	Template string // with External the name of the claim
	External bool   // made outside of the task
	Only     string // members that hold it, sorted, with commas between; "": all
	Group    string // "" at task level and for standalone roles
	Role     string // "" above role level
	Task     int32  // replica of the task, or −1: all
	Replica  int32  // of the group, or −1: all, or there is no group
	Index    int32  // job of the role, or −1: all
}

// JobKey says which job of a task it is: a retry has the key of the job that it tries again.
type JobKey struct {
	Task    int32
	Group   string // "" for a standalone role
	Replica int32  // of the group; −1 without one
	Role    string
	Index   int32 // in its role instance
}

// Name is the key for people, unique within the task: the way to the level, then the template and, in parentheses, the
// members of only. gpus and 0/gpus are of task level, 0/sgx/gpus and 0/sgx/1/gpus(pca,pcb) of the group sgx,
// 0/sgx/1/pca/gpus and 0/sgx/1/pca/2/gpus of its role pca, 0/metrics/gpus of a standalone role. claim:x was made outside.
func (k ClaimKey) Name() string {
	if k.External {
		return "claim:" + k.Template
	}
	name := path(k.Task, k.Group, k.Replica, k.Role, k.Index) + k.Template
	if k.Only != "" {
		name += "(" + k.Only + ")"
	}
	return name
}

// Name is the key for people, unique within the task: 0/sgx/1/pca/2, or 0/metrics/1 of a standalone role.
func (k JobKey) Name() string {
	return strings.TrimSuffix(path(k.Task, k.Group, k.Replica, k.Role, k.Index), "/")
}

func path(task int32, group string, replica int32, role string, index int32) string {
	var b strings.Builder
	number := func(n int32) {
		if n != every {
			fmt.Fprintf(&b, "%d/", n)
		}
	}
	word := func(s string) {
		if s != "" {
			b.WriteString(s + "/")
		}
	}
	number(task)
	word(group)
	number(replica)
	word(role)
	number(index)
	return b.String()
}

// ParseJobKey reads what JobKey.Name writes.
func ParseJobKey(name string) (JobKey, error) {
	parts := strings.Split(name, "/")
	k := JobKey{Replica: every}
	var at [3]string // task, replica, index
	switch len(parts) {
	case 3:
		at, k.Role = [3]string{parts[0], "", parts[2]}, parts[1]
	case 5:
		at, k.Group, k.Role = [3]string{parts[0], parts[2], parts[4]}, parts[1], parts[3]
	}
	if k.Role == "" || len(parts) == 5 && k.Group == "" {
		return JobKey{}, fmt.Errorf("%.80q is not the name of a job such as 0/sgx/1/pca/2 or 0/metrics/1", name)
	}
	for i, to := range []*int32{&k.Task, &k.Replica, &k.Index} {
		if i == 1 && k.Group == "" {
			continue
		}
		n, err := strconv.ParseInt(at[i], 10, 32)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != at[i] {
			return JobKey{}, fmt.Errorf("%.80q is not the name of a job: %.20q is not a number", name, at[i])
		}
		*to = int32(n)
	}
	return k, nil
}
