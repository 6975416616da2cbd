package run

import (
	"os"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// ofHere are variables of a shell that say nothing to a job. Those of divvy may be secrets.
var ofHere = []string{"PWD", "OLDPWD", "SHLVL", "_", "TMPDIR"}

// environment is what jobs find in theirs: NAME=VALUE, which may have placeholders, NAME as it is here, or with --env-all everything.
func (a *Ask) environment(s *wire.TaskSpec) error {
	s.Env = map[string]string{}
	if a.EnvAll {
		for _, both := range os.Environ() {
			name, value, _ := strings.Cut(both, "=")
			if name != "" && !slices.Contains(ofHere, name) && !strings.HasPrefix(name, "DIVVY_") {
				s.Env[name] = job.Literal(value)
			}
		}
	}
	for _, text := range a.Env {
		name, value, given := strings.Cut(text, "=")
		if name == "" {
			return fail.Usagef("--env %s: expected NAME=VALUE, or NAME for the value that it has here", text)
		}
		if !given {
			here, is := os.LookupEnv(name)
			if !is {
				return fail.Usagef("--env %s: there is no such variable here; write %s=VALUE", name, name)
			}
			value = job.Literal(here)
		}
		s.Env[name] = value
	}
	return nil
}
