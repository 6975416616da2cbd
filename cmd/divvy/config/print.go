package config

import (
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"gopkg.in/yaml.v3"

	"github.com/divvyhq/divvy/internal/logs"
)

// Print writes c as a divvy.yml that says the same. Passwords in a DSN are not shown.
func Print(w io.Writer, c Config) error {
	c.Database.DSN, c.Database.Direct = HidePassword(c.Database.DSN), HidePassword(c.Database.Direct)
	top := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields() {
		v := &yaml.Node{Kind: yaml.ScalarNode, Value: f.get(c)}
		if f.kind() == "text" {
			v.Tag = "!!str"
			if strings.Contains(v.Value, "\n") {
				v.Style = yaml.DoubleQuotedStyle // the encoder's own choice loses blanks in front of the first line
			}
		}
		top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: f.key}, v)
	}
	enc := yaml.NewEncoder(w)
	if err := enc.Encode(top); err != nil {
		return err
	}
	return enc.Close()
}

// Reference is docs/configuration.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Configuration of the daemon

<!-- Made from cmd/divvy/config/config.go by: go test ./cmd/divvy/config -run TestConfigReference -update. Edit the struct, not this page. -->

Every key can be said in four places. The first that says it wins:

1. a flag of ` + "`divvy serve`" + `
2. the environment
3. the file that ` + "`--config`" + ` or ` + "`DIVVY_CONFIG`" + ` names
4. the default

The file is strict YAML: an unknown or repeated key is refused with file:line:column.
` + "`divvy serve --print-config`" + ` shows what came out of it, passwords in a DSN as ` + "`xxxxx`" + ` and a DSN that does not read well not at all, and starts nothing.
Listening beyond loopback is refused without ` + "`--require-token`, `--token-file`, `--issuers`, `--tls-roles` or `--insecure`" + `; see [access](access.md).

`)
	b.WriteString("| key | flag | environment | type | default | what it is |\n|---|---|---|---|---|---|\n")
	def := Defaults()
	for _, f := range fields() {
		value := "`" + f.get(def) + "`"
		switch {
		case f.key == "state_dir":
			value = "`/var/lib/divvy` as root, else `$XDG_STATE_HOME/divvy`"
		case f.get(def) == "":
			value = ""
		}
		fmt.Fprintf(&b, "| `%s` | `--%s` | `%s` | %s | %s | %s |\n", f.key, f.flag(), f.env(), f.kind(), value, f.doc)
	}
	b.WriteString(`
Client commands know ` + "`DIVVY_SERVER`" + ` (` + "`--server`" + `), ` + "`DIVVY_TOKEN`" + ` (the token itself) and ` + "`--token-file`" + `.
The private PostgreSQL looks for its binaries in ` + "`DIVVY_PGBIN`" + `, ` + "`PATH`" + `, ` + "`pg_config --bindir`" + ` and ` + "`/usr/lib/postgresql/*/bin`" + `.
`)
	return b.String()
}

// NewLog logs to w as c says. The password of a DSN never comes out.
func NewLog(w io.Writer, c Config) *logs.Log {
	level, _ := logs.ParseLevel(c.Log.Level)
	var secrets []string
	for _, dsn := range []string{c.Database.DSN, c.Database.Direct} {
		if dsn == "" || dsn == "auto" {
			continue
		}
		if parsed, err := pgconn.ParseConfig(dsn); err == nil {
			secrets = append(secrets, parsed.Password)
		}
	}
	return logs.New(logs.Config{To: w, JSON: c.Log.Format == "json", Levels: logs.NewLevels(level), PerSecond: c.Log.PerSecond, Secrets: secrets})
}
