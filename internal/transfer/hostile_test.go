package transfer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/transfer"
)

func ending(records int) string { return fmt.Sprintf(`{"kind":"end","records":%d}`+"\n", records) }

const (
	head  = `{"kind":"divvy export","format":1,"release":"v0.10.0","schema":53,"old":true,"written_at":"2026-11-25T04:00:00Z"}` + "\n"
	share = `{"kind":"share","id":7,"parent_id":null,"name":"A","path":"A","position":0,"leaf":true,"weight":1,"tier":1,"plan":{},"removed_in":null}` + "\n"
	hour  = `{"kind":"wait_hour","hour":"2026-11-25T04:00:00Z","share_id":7,"queue_id":1,"bucket":0,"jobs":1,"wait_seconds":0.5}` + "\n"
)

// untouched says that a file was refused with these words, and that nothing of it was stored.
func untouched(t *testing.T, db *pgxpool.Pool, file string, words ...string) {
	t.Helper()
	_, err := transfer.Import(t.Context(), db, strings.NewReader(file), "f")
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v, want %q", err, w)
		}
	}
	for _, table := range []string{"site_versions", "shares", "queues", "tokens", "hour_usage", "wait_hours"} {
		if r := rows(t, db, table); err == nil || r != "" {
			t.Errorf("%v, and %s has %s", err, table, r)
		}
	}
}

func TestHostileFiles(t *testing.T) {
	db := pgtest.Open(t)
	with := func(was, is string) string { return strings.Replace(share, was, is, 1) }
	for name, test := range map[string]struct {
		file  string
		words []string
	}{
		"empty":             {"", []string{"f is empty"}},
		"no JSON":           {"hello\n", []string{"f:1: no JSON object"}},
		"a site file":       {"{}\n", []string{"f:1: this is no file of 'divvy migrate export'"}},
		"a list":            {"[]\n", []string{"f:1: no JSON object"}},
		"another format":    {strings.Replace(head, `"format":1`, `"format":2`, 1), []string{"f:1: format 2 is not known; this divvy reads format 1"}},
		"no format":         {strings.Replace(head, `"format":1,`, "", 1), []string{"f:1: format 0"}},
		"bad header":        {strings.Replace(head, `"format":1`, `"format":"1"`, 1), []string{"f:1: header"}},
		"nothing but that":  {head, []string{"f:1: the file is cut off"}},
		"cut off":           {head + share, []string{"f:2: the file is cut off"}},
		"cut in a line":     {head + share[:40], []string{"f:2: no JSON object"}},
		"a blank line":      {head + "\n" + share + ending(1), []string{"f:2: no JSON object"}},
		"unknown kind":      {head + share + `{"kind":"job","id":1}` + "\n" + ending(2), []string{`f:3: kind "job" is not known`}},
		"no kind":           {head + `{"id":1}` + "\n" + ending(1), []string{`f:2: kind "" is not known`}},
		"null":              {head + "null\n" + ending(1), []string{`f:2: kind "" is not known`}},
		"a field too many":  {head + with(`"id":7`, `"id":7,"colour":"red"`) + ending(1), []string{`f:2: share: "colour" is not a field of it`}},
		"a field too few":   {head + with(`"tier":1,`, "") + ending(1), []string{"f:2: share: tier is missing"}},
		"two values a line": {head + strings.TrimSpace(share) + share + ending(2), []string{"f:2: no JSON object"}},
		"wrong type":        {head + hour + with(`"id":7`, `"id":"seven"`) + ending(2), []string{"f:3: share: ", "seven"}},
		"too large":         {head + with(`"id":7`, `"id":77777777777`) + ending(1), []string{"f:2: share: ", "out of range"}},
		"a rule broken":     {head + with(`"weight":1`, `"weight":-1`) + ending(1), []string{"f:2: share: ", "shares_weight_check"}},
		"no parent":         {head + with(`"parent_id":null`, `"parent_id":3`) + ending(1), []string{"f:2: share: ", "shares_parent_id_fkey"}},
		"twice":             {head + hour + share + share + ending(3), []string{"f:4: share: ", "(id)=(7) already exists"}},
		"not UTF-8":         {head + with(`"name":"A"`, `"name":"`+"\xff"+`"`) + ending(1), []string{"f:2: share: ", "encoding"}},
		"NUL":               {head + with(`"name":"A"`, `"name":"\u0000"`) + ending(1), []string{"f:2: share: "}},
		"SQL":               {head + with(`"name":"A"`, `"name":"A'); DROP TABLE shares; --","x":1`) + ending(1), []string{"f:2: share: "}},
		"more than it says": {head + share + hour + ending(1), []string{"f:4: the file has 2 records, and should have 1"}},
		"less than it says": {head + share + ending(2), []string{"f:3: the file has 1 records, and should have 2"}},
		"behind the end":    {head + share + ending(1) + hour, []string{"f:4: there is a line behind the end"}},
		"two ends":          {head + share + ending(1) + ending(1), []string{"f:4: there is a line behind the end"}},
		"two headers":       {head + head + ending(1), []string{`f:2: kind "divvy export" is not known`}},
		"foreign sequence":  {head + `{"kind":"sequence","name":"attempts_nth","last":9}` + "\n" + ending(1), []string{`f:2: sequence: "attempts_nth"`}},
		"backwards":         {head + `{"kind":"sequence","name":"jobs_id_seq","last":-9}` + "\n" + ending(1), []string{"f:2: sequence: -9 is no id"}},
		"no number":         {head + `{"kind":"sequence","name":"jobs_id_seq","last":"x"}` + "\n" + ending(1), []string{"f:2: sequence: "}},
		"beyond a sequence": {head + `{"kind":"sequence","name":"shares_id_seq","last":99999999999}` + "\n" + ending(1), []string{"f: sequences: ", "out of bounds"}},
		"an endless line":   {head + strings.Repeat("x", 65<<20), []string{"f:2: the line is longer than"}},
	} {
		t.Run(name, func(t *testing.T) { untouched(t, db, test.file, test.words...) })
	}
	imported(t, db, head+share+hour+ending(2))
}

// A file that was cut off anywhere is refused as a whole.
func TestTruncatedFiles(t *testing.T) {
	file, _ := export(t, old(t))
	db := pgtest.Open(t)
	step := max(1, len(file)/60)
	for n := 0; n < len(file)-1; n += step {
		untouched(t, db, file[:n])
	}
	untouched(t, db, file[:len(file)-2])
	imported(t, db, file)
}

// The line at fault is named within a large batch too, and behind several.
func TestTheLineIsNamed(t *testing.T) {
	db := pgtest.Open(t)
	var b strings.Builder
	b.WriteString(head)
	for i := range 1700 {
		b.WriteString(strings.Replace(hour, `"bucket":0`, fmt.Sprintf(`"bucket":%d`, i%1650), 1))
	}
	untouched(t, db, b.String()+ending(1700), "f:1652: wait_hour: ", "already exists")
}

func TestOccupiedDatabases(t *testing.T) {
	for what, sql := range map[string]string{
		"a site":               `INSERT INTO site_versions (version, applied_by, source, share_ids, queue_ids) VALUES (1, 'a', '', '{}', '{}')`,
		"tokens":               `INSERT INTO tokens (name, prefix, hash, role, created_by) VALUES ('a', 'divvy_0', sha256('a'), 'admin', 'a')`,
		"a history of usage":   `INSERT INTO day_usage VALUES ('2026-11-25', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, '')`,
		"a daemon":             `INSERT INTO daemons (host, pid) VALUES ('h', 1)`,
		"tasks":                `INSERT INTO tasks (name, user_name, spec) VALUES ('a', 'a', '{}')`,
		"migrate up":           `DELETE FROM migrations WHERE version_id > 3`,
		"divvy migrate export": `ALTER TABLE migrations RENAME TO goose_db_version`,
	} {
		t.Run(what, func(t *testing.T) {
			db := pgtest.Open(t)
			run(t, db, sql)
			_, err := transfer.Import(t.Context(), db, strings.NewReader(head+share+ending(1)), "f")
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%v, want %q", err, what)
			}
			if occupied := errors.Is(err, transfer.ErrOccupied); occupied != !strings.Contains(what, "migrate") {
				t.Errorf("%v is ErrOccupied: %t", err, occupied)
			}
			if r := rows(t, db, "shares"); r != "" {
				t.Errorf("stored %s", r)
			}
		})
	}
}
