package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// runAsBench makes the test binary a divvy-bench, for its load and its daemons.
const runAsBench = "DIVVY_TEST_RUN_AS_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(runAsBench) != "" {
		main()
	}
	pgtest.Main(m)
}

// outcome is what a command line did.
type outcome struct {
	code     int
	out, err string
}

func benched(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	code := cli.Execute(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, benchCommand, args)
	return outcome{code, out.String(), errs.String()}
}
