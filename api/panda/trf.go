package panda

import (
	"bytes"
	_ "embed"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda/taskspec"
)

// runShell is the payload script that all commands of ours are run by.
//
//go:embed trf/runShell
var runShell []byte

// runGen is the program that runs tasks of prun.
//
//go:embed trf/runGen
var runGen []byte

// runGenScript is runShell that writes the program down and runs it.
var runGenScript = bytes.Replace(runShell, []byte("\noctal=\n"),
	slices.Concat([]byte("\ncat >runGen.py <<'END_OF_RUNGEN'\n"), runGen, []byte("END_OF_RUNGEN\nset -- -- python3 runGen.py \"$@\"\n\noctal=\n")), 1)

// builtIn are the scripts that are served without a folder.
var builtIn = map[string][]byte{taskspec.RunShellName: runShell, taskspec.RunGenName: runGenScript}

// maxTransform bounds a payload script: they are scripts, not releases.
const maxTransform = 16 << 20

// trfRoutes serves the scripts, also where PanDA's server has those of users: clients name them there. Below the log key of an
// attempt they know where its output goes.
func (s *server) trfRoutes(root chi.Router) {
	for _, path := range []string{taskspec.TrfPath + "{name}", taskspec.TrfPath + "user/{name}", taskspec.TrfPath + keyParam + "/{name}"} {
		root.Get(path, s.transform)
		root.Head(path, s.transform)
	}
	s.cacheRoutes(root)
	if s.Dispatcher != nil {
		root.Post(taskspec.TrfPath+keyParam+"/"+logName, s.payloadLog)
	}
}

// transform is GET /trf/<name> and /trf/<key>/<name>. A script of the operator overrides a built-in one.
func (s *server) transform(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	script, err := s.readTransform(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && builtIn[name] != nil:
		script = s.withLog(builtIn[name], r)
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "no transform of this name here", http.StatusNotFound)
		return
	case err != nil:
		s.Log.Error("transform", "name", name, "error", err)
		http.Error(w, "the transform could not be read", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.Itoa(len(script)))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(script) // the pilot may have gone
}

// readTransform reads a file of the operator's folder: a regular one in it, not below it, and none that a link leads
// out to. fs.ErrNotExist for everything else.
func (s *server) readTransform(name string) ([]byte, error) {
	if s.Transforms == "" || name == "" || strings.HasPrefix(name, ".") || !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(s.Transforms)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxTransform {
		return nil, errors.Join(fs.ErrNotExist, err)
	}
	return root.ReadFile(name)
}
