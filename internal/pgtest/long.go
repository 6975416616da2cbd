package pgtest

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// quick is the part of their draws that properties and machines make where nobody asks for more.
const quick = 4

// long is how many times its draws a test makes by DIVVY_LONG: 1 as many as it names, 10 ten times as many; 0: a few of them.
func long() int {
	said := os.Getenv("DIVVY_LONG")
	if n, err := strconv.Atoi(said); err == nil && n >= 0 {
		return n
	}
	if said != "" {
		return 1
	}
	return 0
}

// Draws is how many draws of a property, or rounds of work, a test makes that is good with n: a quarter of them, at least one,
// unless DIVVY_LONG asks for all of them.
func Draws(n int) int {
	if l := long(); l > 0 {
		return n * l
	}
	return (n + quick - 1) / quick
}

// Long skips a test that takes too long for everybody's go test ./..., unless DIVVY_LONG asks for it. CI does at night.
func Long(t testing.TB, what string) {
	t.Helper()
	if long() == 0 {
		t.Skipf("long: %s; DIVVY_LONG=1 runs it", what)
	}
}

// drawLess has the properties of rapid draw by Draws, unless -rapid.checks says how often. With -short rapid itself draws less.
func drawLess() {
	if !flag.Parsed() {
		flag.Parse()
	}
	checks := flag.Lookup("rapid.checks")
	if checks == nil || testing.Short() {
		return
	}
	flag.Visit(func(f *flag.Flag) {
		if f == checks {
			checks = nil
		}
	})
	if checks == nil {
		return
	}
	if n, err := strconv.Atoi(checks.DefValue); err == nil {
		_ = checks.Value.Set(strconv.Itoa(Draws(n)))
	}
}
