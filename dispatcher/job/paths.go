package job

import (
	"fmt"
	"strings"
)

// maxPath is the longest path that Linux takes, in bytes.
const maxPath = 4095

// Paths are where a job runs and writes on the machine of its pilot: absolute paths, templates as commands are.
type Paths struct {
	Dir    string `json:"dir,omitempty" doc:"Absolute path of the folder that jobs run in; default: an empty one of their own. May have the placeholders of command."`
	Stdout string `json:"stdout,omitempty" doc:"Absolute path of a file for the output of a job, emptied at each attempt. May have the placeholders of command."`
	Stderr string `json:"stderr,omitempty" doc:"The same for errors; it may be the same file."`
}

// pathField is one of Paths with the key that people know it by.
type pathField struct {
	key  string
	text *string
}

func (p *Paths) each() [3]pathField {
	return [3]pathField{{"dir", &p.Dir}, {"stdout", &p.Stdout}, {"stderr", &p.Stderr}}
}

// checkPaths wants the begin to be text: no placeholder can then lead to another root.
func (p Payload) checkPaths() error {
	for _, f := range p.each() {
		text := *f.text
		switch {
		case text == "":
			continue
		case text[0] != '/':
			return &FieldError{Field: f.key, Value: fmt.Sprintf("%.200q", text), Want: "an absolute path such as /data/run-{{.Index}}"}
		case len(text) > maxPath:
			return &FieldError{Field: f.key, Value: fmt.Sprintf("%.20q…", text), Want: fmt.Sprintf("a path of at most %d bytes", maxPath)}
		case f.key != "dir" && strings.HasSuffix(text, "/"):
			return &FieldError{Field: f.key, Value: fmt.Sprintf("%.200q", text), Want: "the path of a file: it ends with /"}
		}
		if err := p.check(f.key, text); err != nil {
			return err
		}
	}
	return nil
}
