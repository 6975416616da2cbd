package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// Words are what scontrol show job prints of a job. Env is the environment with which it was submitted.
func (r *Row) Words(env map[string]string) []string {
	restarts, runs := 0, 0
	if r.State == Running {
		runs = 1
	}
	id := fmt.Sprintf("JobId=%s JobName=%s", r.RawID(), r.Who.Name)
	if r.Array != nil {
		piece := r.Array.String()
		if r.Piece >= 0 {
			piece = strconv.FormatInt(r.Piece, 10)
		}
		id = fmt.Sprintf("JobId=%s ArrayJobId=%d ArrayTaskId=%s JobName=%s", r.RawID(), r.Job, piece, r.Who.Name)
	}
	all := []string{
		id,
		fmt.Sprintf("UserId=%s(%s) Account=%s QOS=normal", r.Who.User, env["SLURM_JOB_UID"], orNull(r.Who.Account)),
		fmt.Sprintf("Priority=%d Nice=0", r.Who.Priority),
		fmt.Sprintf("JobState=%s Reason=%s Dependency=(null)", r.State, r.reason()),
		fmt.Sprintf("Requeue=1 Restarts=%d BatchFlag=1 Reboot=0 ExitCode=%d:%d", restarts, r.Ended.Code, r.Ended.Signal),
		fmt.Sprintf("RunTime=%s TimeLimit=%s", FormatElapsed(r.Elapsed()), r.limit(FormatElapsed)),
		fmt.Sprintf("SubmitTime=%s EligibleTime=%s", moment(r.At.Submit, "Unknown"), moment(r.At.Submit, "Unknown")),
		fmt.Sprintf("StartTime=%s EndTime=%s", moment(r.At.Start, "Unknown"), moment(r.At.End, "Unknown")),
		"Partition=" + r.Who.Partition,
		"NodeList=" + r.Node,
		fmt.Sprintf("NumNodes=%d NumCPUs=%d NumTasks=%s", max(1, runs), r.Size.CPUs, or1(env["SLURM_NTASKS"])),
		fmt.Sprintf("MinMemoryNode=%s", memory(r.Size.MemoryMB)),
		"WorkDir=" + r.Who.Dir,
	}
	if r.Who.Comment != "" {
		all = append(all, "Comment="+r.Who.Comment)
	}
	return all
}

func or1(s string) string {
	if s == "" {
		return "1"
	}
	return s
}

// maxHosts bounds what a short list may stand for.
const maxHosts = 65_536

// Hosts reads a list of nodes, such as n1,n[3-5,07]x.
func Hosts(list string) (hosts []string, err error) {
	for list != "" {
		end, depth := len(list), 0
		for i, c := range list {
			switch {
			case c == '[':
				depth++
			case c == ']':
				depth--
			case c == ',' && depth == 0 && end == len(list):
				end = i
			}
		}
		one := list[:end]
		list = strings.TrimPrefix(list[end:], ",")
		more, err := hostsOf(one)
		if err != nil {
			return nil, err
		}
		if hosts = append(hosts, more...); len(hosts) > maxHosts {
			return nil, fmt.Errorf("Invalid hostlist: more than %d names", maxHosts)
		}
	}
	return hosts, nil
}

func hostsOf(one string) (hosts []string, err error) {
	before, rest, bracket := strings.Cut(one, "[")
	if !bracket {
		return []string{one}, nil
	}
	inner, after, closed := strings.Cut(rest, "]")
	if !closed {
		return nil, fmt.Errorf("Invalid hostlist: %s", one)
	}
	for part := range strings.SplitSeq(inner, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, err1 := strconv.ParseUint(first, 10, 31)
		to, err2 := strconv.ParseUint(last, 10, 31)
		if err1 != nil || err2 != nil || to < from || to-from >= maxHosts {
			return nil, fmt.Errorf("Invalid hostlist: %s", one)
		}
		for n := from; n <= to; n++ {
			number := fmt.Sprintf("%0*d", len(first), n)
			more, err := hostsOf(before + number + after)
			if err != nil {
				return nil, err
			}
			if hosts = append(hosts, more...); len(hosts) > maxHosts {
				return nil, fmt.Errorf("Invalid hostlist: more than %d names", maxHosts)
			}
		}
	}
	return hosts, nil
}
