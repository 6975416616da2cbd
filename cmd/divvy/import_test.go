package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

const pandaTables = "../../internal/site/pandashares/testdata/"

// What import writes is what apply takes.
func TestImportedSharesApply(t *testing.T) {
	t.Parallel()
	d, _ := launch(t, nil)
	for _, table := range []string{"good.atlas.csv", "good.small.json", "good.semicolons.csv", "good.production.csv"} {
		made := divvy(t, "import", "panda-shares", pandaTables+table)
		if made.code != fail.OK || made.err != "" {
			t.Fatalf("%s: %+v", table, made)
		}
		file := filepath.Join(t.TempDir(), "site.yml")
		if err := os.WriteFile(file, []byte(made.out), 0o600); err != nil {
			t.Fatal(err)
		}
		tried := divvy(t, "apply", "-f", file, "--dry-run", "--server", d.URL())
		if tried.code != fail.OK || !strings.Contains(tried.out, "dry run: this would be version 2") {
			t.Errorf("%s: %+v", table, tried)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		err  string
	}{
		pandaTables + "bad.rows.csv": {fail.Failed, "bad.rows.csv:2:3: VALUE of \"A\": \"ten\" is not a number"},
		"/nonexistent.csv":           {fail.Failed, "no such file"},
		"":                           {fail.Usage, "import panda-shares needs FILE, the table as CSV or JSON\n  Example: divvy import panda-shares"},
	} {
		line := []string{"import", "panda-shares"}
		if args != "" {
			line = append(line, args)
		}
		if o := divvy(t, line...); o.code != want.code || o.out != "" || !strings.Contains(o.err, want.err) {
			t.Errorf("%q: %+v", args, o)
		}
	}
}
