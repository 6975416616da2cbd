package transfer

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var files embed.FS

var query = withOld(pg.MustLoad(files))

// oldFiles are statements that only databases of releases up to 0.10 understand.
//
//go:embed old/*.sql
var oldFiles embed.FS

func withOld(all map[string]string) map[string]string {
	entries, err := oldFiles.ReadDir("old")
	for _, e := range entries {
		var text []byte
		if text, err = oldFiles.ReadFile("old/" + e.Name()); err == nil {
			all[strings.TrimSuffix(e.Name(), ".sql")] = string(text)
		}
	}
	if err != nil {
		panic(fmt.Sprintf("transfer: embedded statements: %v", err))
	}
	return all
}

// The lines of a file beside records.
const (
	format     = 1
	headerKind = "divvy export"
	endKind    = "end"
)

// header is the first line of a file.
type header struct {
	Kind      string    `json:"kind"`
	Format    int       `json:"format"`
	Release   string    `json:"release"` // of the daemon that started last on the database; empty: none did
	Schema    int64     `json:"schema"`  // its newest migration
	Old       bool      `json:"old"`     // in the numbers of releases up to 0.10
	WrittenAt time.Time `json:"written_at"`
}

// end is the last line of a file.
type end struct {
	Kind    string `json:"kind"`
	Records int    `json:"records"`
}

// kind is a kind of record: a table whose rows come along.
type kind struct {
	name   string
	out    string // statement that reads the rows
	old    string // the same in databases up to 0.10; empty: it is the same
	in     string // statement that writes them
	fields string // the columns, all of them in every record
	since  int64  // the first schema up to 0.10 that has the table; 0: all that Export reads
}

// kinds are in the order in which their rows can be stored.
var kinds = []kind{
	{name: "site_version", out: "export_site_versions", in: "import_site_versions",
		fields: "version applied_at applied_by note rollback_of source share_ids queue_ids"},
	{name: "share", out: "export_shares", in: "import_shares",
		fields: "id parent_id name path position leaf weight tier plan removed_in"},
	{name: "queue", out: "export_queues", in: "import_queues",
		fields: "id name pool state slots core_power_milli cores memory_mb disk_mb walltime_s labels prefer position removed_in"},
	{name: "tag_rule", out: "export_tag_rules", in: "import_tag_rules",
		fields: "version position match share"},
	{name: "site_resource", out: "export_site_resources", in: "import_site_resources",
		fields: "version position name capacity per_queue keyed split_by external_expires"},
	{name: "site_later", out: "export_site_later", in: "import_site_later",
		fields: "id effective_at stored_at stored_by note file source moves base_version state version error ended_at ended_by"},
	{name: "token", out: "export_tokens", in: "import_tokens",
		fields: "id name prefix hash role user_name queues share created_at created_by expires_at revoked_at revoked_by used_at"},
	{name: "usage_hour", out: "export_usage_hours", old: "export_old_usage_hours", in: "import_usage_hours",
		fields: "hour share_id queue_id user_name slot_seconds unit_seconds wasted_slot_seconds cpu_ms finished failed lost cancelled revoked"},
	{name: "usage_day", out: "export_usage_days", old: "export_old_usage_days", in: "import_usage_days",
		fields: "day share_id queue_id user_name slot_seconds unit_seconds wasted_slot_seconds cpu_ms finished failed lost cancelled revoked"},
	{name: "usage_node", out: "export_usage_nodes", old: "export_old_usage_nodes", in: "import_usage_nodes",
		fields: "day queue_id node slot_seconds wasted_slot_seconds finished failed lost cancelled revoked"},
	{name: "wait_hour", out: "export_wait_hours", in: "import_wait_hours",
		fields: "hour share_id queue_id bucket jobs wait_seconds"},
	{name: "user_wait_hour", out: "export_user_wait_hours", in: "import_user_wait_hours", since: 52,
		fields: "hour user_name bucket jobs wait_seconds"},
	{name: "fairness_hour", out: "export_fairness_hours", in: "import_fairness_hours",
		fields: "hour pool share_id seconds target_seconds held_seconds missed_seconds starved_seconds busy_seconds"},
	sequences,
}

// sequences are stored when all else is: what they do is not taken back with a transaction.
var sequences = kind{name: "sequence", out: "export_sequences", in: "import_sequences", fields: "name last"}

// numbered are the sequences whose ids somebody outside of the database may hold, by the names that they had in 0.10.
var numbered = []string{"shares_id_seq", "queues_id_seq", "site_later_id_seq", "tokens_id_seq", "jobs_id_seq", "tasks_id_seq",
	"resource_claims_id_seq", "daemons_id_seq", "harvester_commands_id_seq"}

func kindOf(name string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// check says what is wrong with the fields of a record.
func (k kind) check(has []string) error {
	want := strings.Fields(k.fields)
	for _, f := range want {
		if !slices.Contains(has, f) {
			return fmt.Errorf("%s: %s is missing", k.name, f)
		}
	}
	for _, f := range has {
		if f != "kind" && !slices.Contains(want, f) {
			return fmt.Errorf("%s: %q is not a field of it", k.name, f)
		}
	}
	return nil
}

// Summary says how many records of each kind a file has.
type Summary map[string]int

// Records is how many there are of all kinds.
func (s Summary) Records() (n int) {
	for _, of := range s {
		n += of
	}
	return n
}

// String tells what people know by name: "2 versions of the site, 5 tokens, 812 rows of usage".
func (s Summary) String() string {
	usage := 0
	for name, n := range s {
		if strings.HasPrefix(name, "usage_") || strings.HasSuffix(name, "_hour") { // waits and fairness too
			usage += n
		}
	}
	return fmt.Sprintf("%d versions of the site, %d tokens, %d rows of usage", s["site_version"], s["token"], usage)
}
