package config

//go:generate go test . -run TestConfigReference -update

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/dispatcher/meter"
	"github.com/divvyhq/divvy/dispatcher/upkeep"
	"github.com/divvyhq/divvy/internal/logs"
)

// Config is everything that can be said to a daemon, by concern. The yaml tag is the key in divvy.yml, DIVVY_<KEY> in the
// environment and, with dashes, the flag of serve; least is what a value may not be below.
type Config struct {
	Database     Database
	Listen       string `yaml:"listen" default:"127.0.0.1:8470" doc:"Address of the HTTP API; port 0 = any free one."`
	Advertise    string `yaml:"advertise" doc:"host:port at which the other daemons reach this one; empty = where it listens, with the host's name when that is all addresses."`
	Access       Access
	Panda        Panda
	Generators   int    `yaml:"generators" default:"2" doc:"Workers that make jobs; 0 = none in this daemon."`
	Site         string `yaml:"site" doc:"Site file to apply at the start if none was ever applied."`
	Lease        Lease
	Sample       time.Duration `yaml:"sample" default:"1m" least:"100ms" doc:"How often shares are sampled for reports."`
	Keep         Keep
	Wait         Wait
	Pprof        string `yaml:"pprof" doc:"Loopback address for Go profiles, such as 127.0.0.1:6060; empty = off."`
	Log          Log
	ShareMetrics string `yaml:"share_metrics" default:"top" doc:"Shares with metrics of their own: top = the upper two levels, none, all, or queues = all, and each at each queue."`
	Traces       Traces
	StopWithin   time.Duration `yaml:"stop_within" default:"30s" least:"1s" doc:"Longest time of an orderly stop."`
}

// Database is where the data is.
type Database struct {
	DSN         string `yaml:"database" default:"auto" doc:"Where the data is: a DSN (postgres://user@host/name), or auto = a private PostgreSQL in the state folder."`
	Direct      string `yaml:"database_direct" doc:"DSN past a pooler, for LISTEN and session locks; needed when database is PgBouncer in transaction mode (1.21 or later, with max_prepared_statements)."`
	Connections int    `yaml:"connections" default:"16" doc:"Most connections to the database."`
	StateDir    string `yaml:"state_dir" doc:"Folder of the private PostgreSQL."`
}

// Access is who may call the HTTP API and PanDA's.
type Access struct {
	TokenFile    string `yaml:"token_file" doc:"File with tokens, one per line: token, or token name role user:… or queue:… or share:… or origin:…; a token alone has every right. Every request then needs a token (Authorization: Bearer)."`
	RequireToken bool   `yaml:"require_token" doc:"Every request needs a token; divvy token create makes them, the first with --database."`
	TLS          TLS
	Issuers      string `yaml:"issuers" doc:"File that maps web tokens (OIDC) to roles, one rule per line: issuer audience claim=value role user:… or queue:… or share:… or origin:…; and where people log in: issuer client login."`
	Requests     int    `yaml:"token_requests" default:"200" least:"0" doc:"Requests a second per token, without pulls, renewals and ends; more get 429. 0 = all."`
	Pulls        int    `yaml:"token_pulls" least:"0" doc:"Pulls a second per token; more get 429. 0 = all."`
	Insecure     bool   `yaml:"insecure" doc:"Listen beyond loopback without a token."`
}

// TLS is that of listen and panda_listen, and of the calls between daemons.
type TLS struct {
	Cert     string `yaml:"tls_cert" doc:"Certificate of listen and panda_listen (PEM, with its chain), for TLS; read again when it changes."`
	Key      string `yaml:"tls_key" doc:"Key of tls_cert."`
	CA       string `yaml:"tls_ca" doc:"CAs of the other daemons' certificates, a PEM file or a folder of *.pem, *.crt, *.0; empty = the system's; read again when it changes."`
	PeerName string `yaml:"tls_peer_name" doc:"Name that the other daemons' certificates are for; empty = the host of their address."`
	ClientCA string `yaml:"tls_client_ca" doc:"CAs of client certificates: a PEM file, or a folder of *.pem, *.crt, *.0."`
	Roles    string `yaml:"tls_roles" doc:"File that maps certificate subjects to roles, one rule per line: \"pattern\" role user:… or queue:… or share:… or origin:…."`
}

// Panda is PanDA's API for its pilots.
type Panda struct {
	Listen     string        `yaml:"panda_listen" doc:"Address of PanDA's API; empty = on listen."`
	Anonymous  bool          `yaml:"panda_anonymous" doc:"Let everybody use PanDA's API, with any credential or none, from other hosts too."`
	URL        string        `yaml:"panda_url" doc:"Where PanDA's pilots download scripts, such as https://divvy.example.org:25443; empty = as each called it."`
	Lease      time.Duration `yaml:"panda_lease" default:"100m" doc:"An attempt of a PanDA pilot is lost after so long a silence; these pilots report every half hour. Not under 3m."`
	Transforms string        `yaml:"panda_transforms" doc:"Folder of payload scripts at /trf/; empty = none."`
}

// Lease is how long leases live.
type Lease struct {
	First time.Duration `yaml:"lease_first" default:"90s" doc:"A new lease ends after it unless its pilot renews it; whole seconds."`
	TTL   time.Duration `yaml:"lease_ttl" default:"180s" doc:"A renewed lease ends after it; whole seconds."`
	Renew time.Duration `yaml:"lease_renew" default:"60s" least:"100ms" doc:"How often pilots are told to renew."`
}

// Keep is how long things are kept.
type Keep struct {
	Samples   time.Duration `yaml:"keep_samples" default:"720h" least:"1h" doc:"How long samples are kept. By the day."`
	History   time.Duration `yaml:"keep_history" default:"9600h" doc:"How long ended attempts and jobs are kept; 0 = for ever. By the day."`
	Hours     time.Duration `yaml:"keep_usage_hours" default:"9600h" doc:"How long usage, waits and fairness by the hour are kept; 0 = for ever. By the day."`
	Days      time.Duration `yaml:"keep_usage_days" doc:"How long usage by the day is kept; 0 = for ever."`
	Decisions time.Duration `yaml:"keep_decisions" default:"168h" least:"1h" doc:"How long the log and its checkpoints are kept, for replays."`
	Audit     time.Duration `yaml:"keep_audit" default:"9600h" doc:"How long the audit is kept; 0 = for ever."`
}

// Wait is how long pulls, jobs and slots wait for something better.
type Wait struct {
	Making time.Duration `yaml:"making_wait" default:"1s" doc:"How long a pull waits for jobs of the share that comes first while none are made; five times that in all."`
	Local  time.Duration `yaml:"local_wait" default:"10m" least:"1s" doc:"How long jobs that prefer to be near their inputs come after others at other queues; the same on all daemons."`
	Gang   time.Duration `yaml:"gang_hold" default:"1m" least:"1s" doc:"How long slots of a node are held for jobs that start together; then they are others' for as long."`
}

// Log is what is logged, and how.
type Log struct {
	Format    string `yaml:"log_format" default:"text" doc:"text or json."`
	Level     string `yaml:"log_level" default:"info" doc:"debug, info, warn or error; at run time: divvy log level."`
	PerSecond int    `yaml:"log_per_second" default:"100" least:"0" doc:"Most log lines a second of one message and level. 0 = all."`
}

// Traces are those of OpenTelemetry.
type Traces struct {
	URL   string `yaml:"traces" doc:"OpenTelemetry collector (OTLP over HTTP), such as http://127.0.0.1:4318; empty = off. Headers and certificates: OTEL_EXPORTER_OTLP_*."`
	OneIn int    `yaml:"trace_one_in" default:"100" least:"1" doc:"One request in so many is traced."`
}

// mostConnections is the largest max_connections of a PostgreSQL.
const mostConnections = 262_143

// Defaults are all defaults there are.
func Defaults() (c Config) {
	for _, f := range fields() {
		if f.def != "" {
			if err := f.set(&c, f.def); err != nil {
				panic(err)
			}
		}
	}
	c.Database.StateDir = defaultStateDir()
	return c
}

// defaultStateDir is /var/lib/divvy for root, else $XDG_STATE_HOME/divvy. DIVVY_STATE_DIR comes through the
// environment like every other key.
func defaultStateDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/divvy"
	}
	if d := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "divvy")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), fmt.Sprintf("divvy-%d", os.Geteuid()))
	}
	return filepath.Join(home, ".local", "state", "divvy")
}

// Validate lists everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
	for _, f := range fields() {
		errs = append(errs, f.check(c))
	}
	if c.Database.DSN == "" {
		bad("database", "is empty; use auto or a DSN")
	}
	if c.Database.Connections < 4 {
		bad("connections", "%d is too few, at least 4", c.Database.Connections)
	}
	if c.Database.Connections > mostConnections {
		bad("connections", "%d is too many, at most %d, which is what PostgreSQL can have", c.Database.Connections, mostConnections)
	}
	if c.Database.DSN == "auto" && c.Database.StateDir == "" {
		bad("state_dir", "is empty, and database auto needs it")
	}
	if c.Generators < 0 || c.Generators > 64 {
		bad("generators", "%d is not within 0 … 64", c.Generators)
	}
	if c.Keep.History != 0 && c.Keep.History < c.Keep.Decisions {
		bad("keep_history", "%s is less than keep_decisions, %s: a replay needs it; 0 keeps it for ever", c.Keep.History, c.Keep.Decisions)
	}
	errs = append(errs, c.Keep.validate()...)
	if c.Keep.Audit != 0 && c.Keep.Audit < 24*time.Hour {
		bad("keep_audit", "%s is less than 24h; 0 keeps it for ever", c.Keep.Audit)
	}
	if c.Wait.Making < 10*time.Millisecond || c.Wait.Making > time.Hour {
		bad("making_wait", "%s is not within 10ms … 1h", c.Wait.Making)
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		bad("log_format", "%q is neither text nor json", c.Log.Format)
	}
	if _, err := logs.ParseLevel(c.Log.Level); err != nil {
		bad("log_level", "%v", err)
	}
	errs = append(errs, c.validateWatching()...)
	errs = append(errs, c.Lease.validate()...)
	errs = append(errs, c.validateAddresses()...)
	errs = append(errs, c.validatePanda()...)
	return errors.Join(errs...)
}

// validate checks how long roll-ups are kept.
func (k Keep) validate() (errs []error) {
	if k.Hours != 0 && k.Hours < 48*time.Hour {
		errs = append(errs, fmt.Errorf("keep_usage_hours: %s is less than 48h: what is asked of the last day needs them; 0 keeps them for ever", k.Hours))
	}
	if k.Days != 0 && (k.Hours == 0 || k.Days < k.Hours) {
		errs = append(errs, fmt.Errorf("keep_usage_days: %s is less than keep_usage_hours, %s: days are what is left of hours; 0 keeps them for ever",
			k.Days, forEver(k.Hours)))
	}
	return errs
}

// forEver is a time that something is kept, in words.
func forEver(keep time.Duration) string {
	if keep == 0 {
		return "for ever"
	}
	return keep.String()
}

// validateWatching checks what is said about logs, metrics and traces.
func (c Config) validateWatching() (errs []error) {
	if _, ok := ShareMetrics[c.ShareMetrics]; !ok {
		errs = append(errs, fmt.Errorf("share_metrics: %q is none of top, none, all, queues", c.ShareMetrics))
	}
	if u, err := url.Parse(c.Traces.URL); err != nil || c.Traces.URL != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		errs = append(errs, fmt.Errorf("traces: %q is not an address such as http://127.0.0.1:4318", c.Traces.URL))
	}
	return errs
}

// ShareMetrics are the values of share_metrics.
var ShareMetrics = map[string]meter.ShareMetrics{"top": meter.TopShares, "none": meter.NoShares, "all": meter.AllShares,
	"queues": meter.QueueShares}

// validate wants leases of whole seconds that outlive the pause between two renewals.
func (l Lease) validate() (errs []error) {
	outlives := func(key string, d time.Duration) {
		switch {
		case d < time.Second || d%time.Second != 0:
			errs = append(errs, fmt.Errorf("%s: %s is not one or more whole seconds", key, d))
		case l.Renew >= d:
			errs = append(errs, fmt.Errorf("%s: %s is not longer than lease_renew, %s", key, d, l.Renew))
		}
	}
	outlives("lease_first", l.First)
	outlives("lease_ttl", l.TTL)
	return errs
}

// Closed says whether the API asks for a credential.
func (a Access) Closed() bool {
	return a.TokenFile != "" || a.RequireToken || a.TLS.Roles != "" || a.Issuers != ""
}

func (c Config) validateAddresses() (errs []error) {
	local, err := Loopback(c.Listen)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("listen: %w", err))
	case !local && !c.Access.Closed() && !c.Access.Insecure:
		errs = append(errs, fail.Hintf(fmt.Errorf("listen: %s is reachable from other hosts, and no token is asked for", c.Listen),
			"Give --require-token, --token-file FILE, --issuers FILE, or --tls-client-ca with --tls-roles, or --insecure if you mean it."))
	}
	errs = append(errs, c.Access.TLS.validate()...)
	if c.Advertise != "" {
		if _, _, err := net.SplitHostPort(c.Advertise); err != nil {
			errs = append(errs, fmt.Errorf("advertise: %q is not host:port", c.Advertise))
		}
	}
	if c.Pprof != "" {
		local, err := Loopback(c.Pprof)
		if err != nil {
			errs = append(errs, fmt.Errorf("pprof: %w", err))
		} else if !local {
			errs = append(errs, fmt.Errorf("pprof: %s is not a loopback address; profiles are for this host only", c.Pprof))
		}
	}
	return errs
}

// Loopback says whether only this host can reach addr. A name counts when all its addresses do.
func Loopback(addr string) (bool, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false, fmt.Errorf("%q is not host:port", addr)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return false, fmt.Errorf("%q has no usable port", addr)
	}
	if host == "" {
		return false, nil
	}
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback(), nil
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return false, fmt.Errorf("%q: no such host", host)
	}
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return false, nil
		}
	}
	return len(ips) > 0, nil
}

// Upkeep is k as the dispatcher has it.
func (k Keep) Upkeep() upkeep.Keep {
	return upkeep.Keep{Log: k.Decisions, History: k.History, Samples: k.Samples, Hours: k.Hours, Days: k.Days}
}
