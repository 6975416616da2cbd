//go:build deploy

package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// whole says whether Docker builds all stages of the Dockerfile, which compiles Go's library and all modules once more.
func whole() bool { return os.Getenv("DIVVY_LONG") != "" }

// buildCommand is the command of the Dockerfile's stage build.
var buildCommand = regexp.MustCompile(`(?m)^ +(CGO_ENABLED=0 go build .* -o )/out/divvy( \./cmd/divvy)$`)

// builtHere does on this machine what the Dockerfile's stage build does in a container: from the files that Docker sends (.dockerignore), by the same
// command. It returns a compose file that puts the result into the stage's place.
func (p *project) builtHere() string {
	p.t.Helper()
	dir := p.t.TempDir()
	src, stage, file := filepath.Join(dir, "src"), filepath.Join(dir, "stage"), filepath.Join(dir, "built.yml")
	if _, err := p.run([]byte("FROM scratch\nCOPY . .\n"), "docker", "buildx", "build", "--quiet", "--file", "-", "--output", "type=local,dest="+src, "."); err != nil {
		p.t.Fatal(err)
	}
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil {
		p.t.Fatal(err)
	}
	command := buildCommand.FindStringSubmatch(string(dockerfile))
	if command == nil {
		p.t.Fatalf("the Dockerfile has no line that matches %s", buildCommand)
	}
	build := exec.CommandContext(p.t.Context(), "sh", "-c", command[1]+filepath.Join(stage, "out/divvy")+command[2])
	build.Dir, build.Env = src, append(os.Environ(), "VERSION="+p.name, "GOFLAGS=", "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v\n%s", command[0], err, said)
	}
	var compose strings.Builder
	compose.WriteString("services:\n")
	for _, service := range []string{"serve", "serve-2", "pilot"} {
		fmt.Fprintf(&compose, "  %s: {build: {additional_contexts: {build: %q}}}\n", service, stage)
	}
	if err := os.WriteFile(file, []byte(compose.String()), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return file
}
