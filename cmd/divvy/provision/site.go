package provision

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
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
	Pilot     string            // command line of a pilot, without --name and --until; quoted for a shell
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

// Do runs a part by sh, and returns what it prints. Its output goes to files and it has a session of its own, so that a start command goes on
// to its end when this program is killed.
func (s *Site) Do(ctx context.Context, part string, names []string) (string, error) {
	script, err := s.Script(part, names)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script) //nolint:gosec // the site's own command, with values quoted for a shell
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := scratch()
	if err != nil {
		return "", err
	}
	defer out.Close()
	complaint, err := scratch()
	if err != nil {
		return "", err
	}
	defer complaint.Close()
	cmd.Stdout, cmd.Stderr = out, complaint
	if err := cmd.Run(); err != nil {
		said, _ := content(complaint)
		said = strings.TrimSpace(said)
		return "", fmt.Errorf("%s command of the template: %w: %s", part, err, said[max(0, len(said)-500):])
	}
	return content(out)
}

// scratch is a file without a name.
func scratch() (*os.File, error) {
	f, err := os.CreateTemp("", "divvy-provision-")
	if err != nil {
		return nil, fmt.Errorf("file for the output of a command: %w", err)
	}
	return f, os.Remove(f.Name())
}

func content(f *os.File) (string, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	text, err := io.ReadAll(f)
	return string(text), err
}

// List returns the names of the pilots that the batch system has, queued or running.
func (s *Site) List(ctx context.Context) ([]string, error) {
	out, err := s.Do(ctx, "list", nil)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Fields(out), func(name string) bool { return !strings.HasPrefix(name, s.values.Prefix) }), nil
}
