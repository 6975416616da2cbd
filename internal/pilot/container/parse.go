package container

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Runtime is how a queue runs images. Make one with Parse.
type Runtime struct {
	kind  string   // podman, docker, apptainer; "" is a command of the site's own
	words []string // the program, and options or the rest of the command
}

// The runtimes whose options are known.
const (
	podman    = "podman"
	docker    = "docker"
	apptainer = "apptainer"
)

var kinds = []string{podman, docker, apptainer}

// Placeholders of a command of the site's own. Each but Command may be part of a word.
var placeholders = []string{"{{.Image}}", "{{.Command}}", "{{.Name}}", "{{.Dir}}", "{{.Work}}", "{{.Cores}}", "{{.MemoryMB}}"}

// Parse reads what a site file says under containers: words with spaces between them. The error says what is wrong and what would be right.
func Parse(text string) (Runtime, error) {
	r := Runtime{words: strings.Fields(text)}
	if len(r.words) == 0 {
		return r, fmt.Errorf("no runtime: expected %s, or a command with {{.Image}} and {{.Command}}", strings.Join(kinds, ", "))
	}
	if !strings.Contains(text, "{{") {
		if r.kind = path.Base(r.words[0]); !slices.Contains(kinds, r.kind) {
			return r, fmt.Errorf("%q is not %s: how it is called is not known; write {{.Image}} and {{.Command}} where they go", r.words[0], strings.Join(kinds, ", "))
		}
		return r, nil
	}
	for _, w := range r.words {
		rest := w
		for _, p := range placeholders {
			rest = strings.ReplaceAll(rest, p, "")
		}
		if strings.Contains(rest, "{{") {
			return r, fmt.Errorf("%q is no placeholder; there are %s", w, strings.Join(placeholders, " "))
		}
	}
	switch {
	case strings.Contains(r.words[0], "{{"):
		return r, fmt.Errorf("%q: the program cannot be a placeholder", r.words[0])
	case !strings.Contains(text, "{{.Image}}"), !slices.Contains(r.words, "{{.Command}}"):
		return r, fmt.Errorf("a command of your own needs {{.Image}}, and {{.Command}} as a word of its own")
	}
	return r, nil
}

// Program is what is started: a name, or an absolute path.
func (r Runtime) Program() string { return r.words[0] }

// Outside says whether the container is not below the process that is started: it is then measured and ended by other means than a
// process group.
func (r Runtime) Outside() bool { return r.kind == podman || r.kind == docker }

// own are the options of the site, behind the program.
func (r Runtime) own() []string { return r.words[1:] }
