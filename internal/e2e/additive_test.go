package e2e

import (
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/migrations"
)

// narrowing are statements that take something away from a daemon one release older, or that read or rewrite a whole table
// under a lock that keeps it waiting.
var narrowing = map[string]*regexp.Regexp{
	"drops":                           regexp.MustCompile(`(?i)\bDROP\s+(TABLE|COLUMN|VIEW|SEQUENCE|SCHEMA|TYPE|FUNCTION|DEFAULT)\b`),
	"renames":                         regexp.MustCompile(`(?i)\bRENAME\b`),
	"changes a type":                  regexp.MustCompile(`(?i)\bALTER\s+(COLUMN\s+)?\w+\s+(SET\s+DATA\s+)?TYPE\b`),
	"demands a value":                 regexp.MustCompile(`(?i)\bSET\s+NOT\s+NULL\b`),
	"empties":                         regexp.MustCompile(`(?i)\bTRUNCATE\b`),
	"adds a column that must be told": regexp.MustCompile(`(?i)\bADD\s+COLUMN\b[^,;]*\bNOT\s+NULL\b(?:[^,;]*\bDEFAULT\b)?`),
	"adds a constraint":               regexp.MustCompile(`(?i)\bADD\s+(CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b`),
	"indexes":                         regexp.MustCompile(`(?i)\bCREATE\s+(UNIQUE\s+)?INDEX\s+\w+\s+ON\s+(?:ONLY\s+)?(\w+)`),
	"clusters or rewrites":            regexp.MustCompile(`(?i)\b(CLUSTER|VACUUM\s+FULL|SET\s+(UN)?LOGGED|SET\s+TABLESPACE)\b`),
}

// argued are findings that are right all the same, as "00013_x.sql indexes: CREATE INDEX i ON jobs", and why.
var argued = map[string]string{}

var (
	sqlComment = regexp.MustCompile(`(?m)--.*$`)
	sqlText    = regexp.MustCompile(`(?s)'(?:[^']|'')*'`)
	sqlBody    = regexp.MustCompile(`(?s)\$(\w*)\$.*?\$(\w*)\$`)
	madeTable  = regexp.MustCompile(`(?i)\bCREATE\s+TABLE\s+(\w+)`)
)

// narrows are the kinds of findings in the Up of a migration. An index on a table that the same migration makes is none.
func narrows(up string) (found []string) {
	_, up, _ = strings.Cut(up, "-- +goose Up")
	up, _, _ = strings.Cut(up, "-- +goose Down")
	up = sqlComment.ReplaceAllString(sqlBody.ReplaceAllString(sqlText.ReplaceAllString(up, "''"), ""), "")
	made := map[string]bool{}
	for _, m := range madeTable.FindAllStringSubmatch(up, -1) {
		made[m[1]] = true
	}
	for kind, re := range narrowing {
		for _, m := range re.FindAllStringSubmatch(up, -1) {
			if kind == "indexes" && made[m[2]] || kind == "adds a column that must be told" && strings.Contains(strings.ToUpper(m[0]), "DEFAULT") {
				continue
			}
			found = append(found, kind+": "+strings.Join(strings.Fields(m[0]), " "))
		}
	}
	return found
}

// Migrations behind the first release of this major only add.
func TestMigrationsAreAdditive(t *testing.T) {
	all := released(t)
	if len(all) == 0 {
		t.Log("no release has the baseline yet: there is nothing that has to go on beside it")
		return
	}
	major, _, _ := strings.Cut(all[len(all)-1].name, ".")
	for !strings.HasPrefix(all[0].name, major+".") {
		all = all[1:]
	}
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		number, _, _ := strings.Cut(file, "_")
		if n, err := strconv.ParseInt(number, 10, 64); err != nil || n <= all[0].migration {
			continue
		}
		text, err := fs.ReadFile(migrations.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range narrows(string(text)) {
			if argued[file+" "+f] == "" {
				t.Errorf("%s %s: a daemon of %s goes on beside it, see migrations/doc.go. Where it is right all the same, argued says why", file, f, all[0].name)
			}
		}
	}
}

// Migrations of releases are as they were.
func TestMigrationsOfReleasesStay(t *testing.T) {
	r := released(t)
	if len(r) == 0 {
		t.Log("no release has the baseline yet: its files may change")
		return
	}
	last := r[len(r)-1]
	if _, err := git("cat-file", "-e", last.commit+"^{commit}"); err != nil {
		t.Logf("%s is not in this clone: nothing to compare with", last.name)
		return
	}
	changed, err := git("diff", "--name-only", "--diff-filter=MDR", last.commit, "--", "migrations/0*.sql")
	if err != nil || changed != "" {
		t.Errorf("changed since %s, %v:\n%s", last.name, err, changed)
	}
}

func TestNarrows(t *testing.T) {
	up := func(sql string) string { return "-- +goose Up\n" + sql + "\n-- +goose Down\nDROP TABLE x;" }
	for sql, want := range map[string]string{
		"ALTER TABLE jobs DROP COLUMN a;":                                    "drops",
		"DROP VIEW report.jobs;":                                             "drops",
		"ALTER TABLE jobs RENAME a TO b;":                                    "renames",
		"ALTER TABLE jobs ALTER a TYPE bigint;":                              "changes a type",
		"ALTER TABLE jobs ALTER COLUMN a SET NOT NULL;":                      "demands a value",
		"ALTER TABLE jobs ADD COLUMN a int NOT NULL;":                        "adds a column that must be told",
		"ALTER TABLE jobs ADD COLUMN a int NOT NULL, ADD COLUMN b int;":      "adds a column that must be told",
		"ALTER TABLE jobs ADD CONSTRAINT c CHECK (a > 0);":                   "adds a constraint",
		"CREATE INDEX i ON jobs (a);":                                        "indexes",
		"CREATE UNIQUE INDEX i ON jobs (a);":                                 "indexes",
		"ALTER TABLE jobs ADD COLUMN a int NOT NULL DEFAULT 0;":              "",
		"ALTER TABLE jobs ADD COLUMN a int; -- DROP TABLE":                   "",
		"COMMENT ON TABLE jobs IS 'DROP TABLE';":                             "",
		"CREATE TABLE y (a int NOT NULL); CREATE UNIQUE INDEX i ON y (a);":   "",
		"CREATE FUNCTION f() RETURNS int AS $$ BEGIN DROP TABLE z; END $$;":  "",
		"CREATE OR REPLACE VIEW report.jobs AS SELECT 1;":                    "",
		"UPDATE usage_state SET rated = now(); INSERT INTO lots VALUES (1);": "",
		"ALTER TABLE jobs ALTER a SET DEFAULT 1; ALTER TABLE a SET (x = 1);": "",
	} {
		found := narrows(up(sql))
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || !strings.HasPrefix(found[0], want+":")) {
			t.Errorf("%s: found %q, want %q", sql, found, want)
		}
	}
}
