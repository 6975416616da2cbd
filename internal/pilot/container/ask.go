package container

import (
	"slices"
	"strconv"
	"strings"
)

// Means are what a runtime can do on a machine.
type Means struct {
	Rootless bool // it has the rights of a user
	Limits   bool // it can bound cores and memory
	Init     bool // it has a first process that hands signals on; without one most commands heed no SIGTERM
	CPUs     int  // of the machine: docker takes no more
}

// Ask is the call whose output MeansOf reads; nil: there is nothing to ask.
func (r Runtime) Ask() []string {
	switch r.kind {
	case podman:
		return []string{r.Program(), "info", "--format", "rootless={{.Host.Security.Rootless}} v={{.Host.CgroupsVersion}} {{.Host.CgroupControllers}}"}
	case docker:
		return []string{r.Program(), "info", "--format", "{{.SecurityOptions}} memory={{.MemoryLimit}} cpu={{.CPUCfsQuota}} init={{.InitBinary}}"}
	}
	return nil
}

// MeansOf reads the output of Ask. found says whether a program is on this machine: neither podman nor docker tells that of the init
// process of containers.
func (r Runtime) MeansOf(output string, found func(program string) bool, cpus int) Means {
	words := strings.FieldsFunc(output, func(c rune) bool { return strings.ContainsRune(" \n[],", c) })
	has := func(word string) bool { return slices.Contains(words, word) }
	m := Means{CPUs: cpus}
	switch r.kind {
	case podman:
		m.Rootless, m.Init = has("rootless=true"), found("catatonit")
		m.Limits = has("cpu") && has("memory") && (!m.Rootless || has("v=v2"))
	case docker:
		m.Rootless = has("name=rootless")
		for _, w := range words {
			if program, ok := strings.CutPrefix(w, "init="); ok {
				m.Init = program != "" && found(program)
			}
		}
		m.Limits = has("memory=true") && has("cpu=true")
	}
	return m
}

// Has is the call that succeeds when the image is on the machine; nil: the runtime finds that out itself.
func (r Runtime) Has(image string) []string {
	switch r.kind {
	case podman:
		return []string{r.Program(), "image", "exists", bare(image)}
	case docker:
		return []string{r.Program(), "image", "inspect", "--format", "{{.Id}}", bare(image)}
	}
	return nil
}

// Pull is the call that fetches an image, where Has is one.
func (r Runtime) Pull(image string) []string {
	return []string{r.Program(), "pull", "--quiet", bare(image)}
}

// End is the call that kills a container and removes it, and succeeds when there is none; nil: it ends with its process group.
func (r Runtime) End(name string) []string {
	switch r.kind {
	case podman:
		return []string{r.Program(), "rm", "--force", "--ignore", "--time", "0", name}
	case docker:
		return []string{r.Program(), "rm", "--force", name}
	}
	return nil
}

// Lies says whether the client does not say how its container ended: that of podman without root's rights ends at once, with exit code 0, when
// it is sent a signal. Then Signal and Ended do.
func (r Runtime) Lies(m Means) bool { return r.kind == podman && m.Rootless }

// Signal is the call that asks the command in a container to end. It fails until there is one.
func (r Runtime) Signal(name string) []string {
	return []string{r.Program(), "kill", "--signal=TERM", name}
}

// Ended is the call whose output EndedOf reads.
func (r Runtime) Ended(name string) []string {
	return []string{r.Program(), "container", "inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", name}
}

// EndedOf is the exit code of a container; false: it has not ended, or never begun.
func (r Runtime) EndedOf(output string) (code int, ok bool) {
	state, text, _ := strings.Cut(strings.TrimSpace(output), " ")
	code, err := strconv.Atoi(text)
	return code, err == nil && (state == "exited" || state == "stopped")
}

// Refusal is why the runtime, and not the command, ended with an exit code; "" when it was the command. errs is the end of what was
// written to stderr.
func (r Runtime) Refusal(code int, errs string) string {
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	for _, s := range sayings[r.kind] {
		if !slices.Contains(s.codes, code) {
			continue
		}
		from := lines[len(lines)-1:]
		if s.anywhere {
			from = lines
		}
		for _, line := range slices.Backward(from) {
			if _, why, found := strings.Cut(line, s.begins); found {
				return strings.TrimSpace(why)
			}
		}
	}
	return ""
}

// saying is how a runtime, or the init process of a container, says why it ends with one of some codes.
type saying struct {
	codes    []int
	begins   string
	anywhere bool // hints may stand below it
}

var sayings = map[string][]saying{
	podman:    {{[]int{125, 126, 127}, "Error: ", true}, {[]int{1}, "ERROR (catatonit:", false}},
	docker:    {{[]int{125, 126, 127}, docker + ": ", true}, {[]int{126, 127}, "[FATAL tini", false}},
	apptainer: {{[]int{255}, "FATAL: ", true}},
}

// LastWords is the end of what a call wrote that failed: its last line, without the words that all begin with.
func LastWords(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	for _, begins := range []string{"Error: ", "Error response from daemon: ", docker + ": ", "FATAL:   "} {
		last = strings.TrimPrefix(last, begins)
	}
	return last
}
