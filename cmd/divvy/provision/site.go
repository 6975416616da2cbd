package provision

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"
)

//go:embed templates/*.tmpl
var shipped embed.FS

// Templates are the names of those that divvy brings.
func Templates() (names []string) {
	entries, _ := shipped.ReadDir("templates")
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}

// Values are what templates may use.
type Values struct {
	Names     []string          // of pilots to start or stop
	Prefix    string            // of all names
	Queue     string            //
	Pilot     string            // command line of a pilot, without --name; quoted for a shell
	Cores     int               //
	MemoryMB  int64             // 0: no bound
	WalltimeS int64             // 0: no end
	Logs      string            // folder for the output of pilots
	Set       map[string]string // of --set
}

// Site runs the three templates of a batch system.
type Site struct {
	templates *template.Template
	values    Values
	patience  time.Duration
}

// OpenSite reads a template of the given name, or the file of that path.
func OpenSite(name string, values Values) (*Site, error) {
	text, err := shipped.ReadFile("templates/" + name + ".tmpl")
	if err != nil {
		if text, err = os.ReadFile(name); err != nil {
			return nil, fmt.Errorf("%q is neither a template of divvy (%s) nor a file: %w", name, strings.Join(Templates(), ", "), err)
		}
	}
	t, err := template.New(name).Option("missingkey=zero").Funcs(template.FuncMap{"q": Quote, "minutes": func(s int64) int64 { return (s + 59) / 60 },
		"condor": func(s string) string { return strings.ReplaceAll(s, "'", "''") }}).Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	for _, part := range []string{"start", "list", "stop"} {
		if t.Lookup(part) == nil {
			return nil, fmt.Errorf("template %s: it has no {{define %q}}; it needs start, list and stop", name, part)
		}
	}
	return &Site{t, values, time.Minute}, nil
}

// Quote quotes a word for a shell.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Script renders a part for names.
func (s *Site) Script(part string, names []string) (string, error) {
	values := s.values
	values.Names = names
	var b bytes.Buffer
	if err := s.templates.ExecuteTemplate(&b, part, values); err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	return b.String(), nil
}

// Do runs a part by sh, and returns what it prints.
func (s *Site) Do(ctx context.Context, part string, names []string) (string, error) {
	script, err := s.Script(part, names)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(complaint.String())
		return "", fmt.Errorf("%s command of the template: %w: %s", part, err, said[max(0, len(said)-500):])
	}
	return out.String(), nil
}

// List returns the names of the pilots that the batch system has, queued or running.
func (s *Site) List(ctx context.Context) ([]string, error) {
	out, err := s.Do(ctx, "list", nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Fields(out), func(name string) bool { return !strings.HasPrefix(name, s.values.Prefix) }), nil
}
