package pg

import (
	"embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	found := []binaries{{"/path", 16}, {"/new", 17}, {"/old", 15}}
	cases := []struct {
		name string
		data []string
		want string // folder, or text of the error
	}{
		{"nothing yet: the best", nil, "/path"},
		{"data of an older version", []string{"15"}, "/old"},
		{"data of two: the newer", []string{"15", "17"}, "/new"},
		{"data of one without programs", []string{"14", "15"}, "/old"},
		{"only data without programs", []string{"14"}, "install PostgreSQL 14"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			state := t.TempDir()
			for _, major := range c.data {
				dir := filepath.Join(state, "postgres-"+major, "data")
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "PG_VERSION"), []byte(major), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			b, err := choose(found, state)
			if err != nil {
				if !errors.Is(err, ErrNoBinaries) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %q", err, c.want)
				}
				return
			}
			if b.dir != c.want {
				t.Errorf("chose %s, want %s", b.dir, c.want)
			}
		})
	}
}

func TestMissingNamesTheRemedies(t *testing.T) {
	err := missing([]string{"/x: too old"})
	for _, want := range []string{"apt-get install", "DIVVY_PGBIN", "--database", "/x: too old"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not say %q", err, want)
		}
	}
}

func TestInspect(t *testing.T) {
	for text, ok := range map[string]bool{
		"postgres (PostgreSQL) 17.2 (Debian 17.2-1)": true, "postgres (PostgreSQL) 18beta1": true,
		"postgres (PostgreSQL) 14.9": false, "hello": false,
	} {
		dir := t.TempDir()
		script := "#!/bin/sh\necho '" + text + "'\n"
		for _, name := range []string{"initdb", "postgres"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := inspect(t.Context(), dir); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

//go:embed doc.go
var noStatements embed.FS

func TestMustLoadWantsStatements(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	MustLoad(noStatements)
}
