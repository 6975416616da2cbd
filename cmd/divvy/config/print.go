package config

import (
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"go.yaml.in/yaml/v3"

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

A key such as ` + "`lease_ttl`" + ` is the flag ` + "`--lease-ttl`" + ` of ` + "`divvy serve`" + `, the variable ` + "`DIVVY_LEASE_TTL`" + `, and a key of the strict YAML file that ` + "`--config`" + ` or ` +
		"`DIVVY_CONFIG`" + ` names. The first of these wins, then the default. ` + "`divvy serve --print-config`" + ` shows the result, passwords as ` + "`xxxxx`" + `.
Listening beyond loopback is refused without ` + "`require_token`, `token_file`, `issuers`, `tls_roles` or `insecure`" + `; see [access](access.md).

`)
	def := Defaults()
	for _, f := range fields() {
		value := " (`" + f.get(def) + "`)"
		switch {
		case f.key == "state_dir":
			value = " (`/var/lib/divvy` as root, else `$XDG_STATE_HOME/divvy`)"
		case f.get(def) == "":
			value = ""
		}
		fmt.Fprintf(&b, "- `%s`%s: %s\n", f.key, value, f.doc)
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
