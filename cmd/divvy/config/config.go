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

// Config is everything that can be said to a daemon. The yaml tag is the key in divvy.yml, DIVVY_<KEY> in the
// environment and, with dashes, the flag of serve.
type Config struct {
	Database       string        `yaml:"database" doc:"Where the data is: auto = a private PostgreSQL in the state folder that the daemon starts and stops itself, or a DSN (postgres://user@host/name)."`
	DatabaseDirect string        `yaml:"database_direct" doc:"DSN past a pooler; needed beside database when that is PgBouncer in transaction mode (1.21 or later, with max_prepared_statements), for LISTEN and session locks."`
	Connections    int           `yaml:"connections" doc:"Most connections to the database."`
	StateDir       string        `yaml:"state_dir" doc:"Folder of the private PostgreSQL."`
	Listen         string        `yaml:"listen" doc:"Address of the HTTP API; port 0 = any free one."`
	Advertise      string        `yaml:"advertise" doc:"host:port at which the other daemons of the site reach this one; empty = where it listens, with the host's name when that is all addresses. One daemon leads: it decides all pulls, and the others hand theirs on to it."`
	TokenFile      string        `yaml:"token_file" doc:"File with tokens that have every right, one a line; every request must carry a token then (Authorization: Bearer)."`
	RequireToken   bool          `yaml:"require_token" doc:"Every request must carry a token, also without a token_file: one that divvy token create has made, the first with --database."`
	TLSCert        string        `yaml:"tls_cert" doc:"Certificate of listen (PEM, with its chain), which speaks TLS then; read again when it has changed."`
	TLSKey         string        `yaml:"tls_key" doc:"Key of tls_cert."`
	TLSCA          string        `yaml:"tls_ca" doc:"CAs of the other daemons' certificates, a PEM file or a folder of *.pem, *.crt, *.0; empty = those of the system; read again when it has changed."`
	TLSPeerName    string        `yaml:"tls_peer_name" doc:"Name that the other daemons' certificates are for, whatever the address at which they are reached; empty = the host of that address."`
	TLSClientCA    string        `yaml:"tls_client_ca" doc:"CAs of client certificates: a PEM file, or a folder of *.pem, *.crt, *.0."`
	TLSRoles       string        `yaml:"tls_roles" doc:"File with a line a kind of client certificate: \"pattern of subjects\" role user:… or queue:… or share:…; the first that fits counts."`
	Issuers        string        `yaml:"issuers" doc:"File with the issuers of JSON web tokens (OIDC), a line a role: address audience claim=value role user:… or queue:… or share:…."`
	TokenRequests  int           `yaml:"token_requests" doc:"Requests a second that a daemon serves of one token, pulls, renewals and ends not counted; the rest get 429. 0 = all."`
	TokenPulls     int           `yaml:"token_pulls" doc:"Pulls a second that a daemon serves of one token, which may be that of thousands of pilots; the rest get 429. 0 = all."`
	Insecure       bool          `yaml:"insecure" doc:"Listen beyond loopback without a token."`
	PandaListen    string        `yaml:"panda_listen" doc:"Address of PanDA's API for its pilots; empty = beside the HTTP API, on listen."`
	PandaCert      string        `yaml:"panda_cert" doc:"Certificate of panda_listen (PEM, with its chain), which speaks TLS then."`
	PandaKey       string        `yaml:"panda_key" doc:"Key of panda_cert."`
	PandaClientCA  string        `yaml:"panda_client_ca" doc:"CAs of the pilots' certificates: a PEM file, or a folder of *.pem, *.crt, *.0."`
	PandaUsers     string        `yaml:"panda_users" doc:"File with a line a kind of certificate: \"pattern of subjects\" user origins…; the first that fits counts."`
	PandaTokens    string        `yaml:"panda_tokens" doc:"File with the tokens of pilots, a line each: name token origins…. The tokens of token_file are good for PanDA's API too, not the other way round."`
	PandaIssuers   string        `yaml:"panda_issuers" doc:"File with the issuers of JSON web tokens (OIDC), a line each: address audience origins…, robot:client…."`
	PandaAnonymous bool          `yaml:"panda_anonymous" doc:"Let pilots in with any credential or none, from other hosts too."`
	PandaURL       string        `yaml:"panda_url" doc:"Where pilots download their payload script, such as https://divvy.example.org:25443; empty = as each of them called it."`
	PandaLease     time.Duration `yaml:"panda_lease" doc:"An attempt that a PanDA pilot runs is given up when nothing was heard of it for so long; that pilot reports every half hour, and says up to two minutes late that a job has failed: not under 3m."`
	PandaTrf       string        `yaml:"panda_transforms" doc:"Folder of payload scripts that pilots fetch at /trf/, beside runShell; empty = none."`
	Generators     int           `yaml:"generators" doc:"Workers that make jobs out of tasks; 0 = none in this daemon."`
	Site           string        `yaml:"site" doc:"Site file to apply at the start when nothing was ever applied; ignored, and said so, when something was."`
	LeaseFirst     time.Duration `yaml:"lease_first" doc:"A new lease ends after it unless its pilot renews it; whole seconds."`
	LeaseTTL       time.Duration `yaml:"lease_ttl" doc:"A renewed lease ends after it; whole seconds."`
	LeaseRenew     time.Duration `yaml:"lease_renew" doc:"How often pilots are told to renew."`
	Sample         time.Duration `yaml:"sample" doc:"How often the standing of the shares is written down for reports."`
	KeepSamples    time.Duration `yaml:"keep_samples" doc:"How long these standings of the shares are kept. By the day."`
	KeepHistory    time.Duration `yaml:"keep_history" doc:"How long attempts and jobs that are over are kept, for reports and for retries of their task; 0 = for ever. By the day."`
	KeepUsageHours time.Duration `yaml:"keep_usage_hours" doc:"How long usage, waits and fairness are kept by the hour, for reports; 0 = for ever. By the day."`
	KeepUsageDays  time.Duration `yaml:"keep_usage_days" doc:"How long usage is kept by the day, of shares, queues, users, tasks and nodes; 0 = for ever."`
	KeepDecisions  time.Duration `yaml:"keep_decisions" doc:"How long what a replay needs is kept: the log, and checkpoints of what it came to."`
	KeepAudit      time.Duration `yaml:"keep_audit" doc:"How long the audit is kept: who changed what; 0 = for ever."`
	MakingWait     time.Duration `yaml:"making_wait" doc:"How long a pull waits for jobs of the share that comes first while no generator makes any jobs; five times that in all."`
	LocalWait      time.Duration `yaml:"local_wait" doc:"At queues that are not near their inputs, jobs that prefer to be come after others of their share and priority for so long; the same on all daemons of a site."`
	GangHold       time.Duration `yaml:"gang_hold" doc:"Slots of a node are held for jobs that start together for so long at the most; then they are others' for as long."`
	Pprof          string        `yaml:"pprof" doc:"Loopback address for Go profiles, such as 127.0.0.1:6060; empty = off."`
	LogFormat      string        `yaml:"log_format" doc:"text or json."`
	LogLevel       string        `yaml:"log_level" doc:"debug, info, warn or error; while the daemon runs: divvy log level."`
	LogPerSecond   int           `yaml:"log_per_second" doc:"Lines of one message and level that are written in a second; of the rest, how many there were. 0 = all."`
	ShareMetrics   string        `yaml:"share_metrics" doc:"Shares that have metrics of their own: top = the upper two levels of the tree, none, all, or queues = all, and what each holds at each queue."`
	Traces         string        `yaml:"traces" doc:"Where OpenTelemetry traces from a pull to its commit go, by OTLP over HTTP, such as http://127.0.0.1:4318; empty = off. Headers and certificates: OTEL_EXPORTER_OTLP_*."`
	TraceOneIn     int           `yaml:"trace_one_in" doc:"One request in so many is traced, beside those whose caller traces them."`
	StopWithin     time.Duration `yaml:"stop_within" doc:"Longest time that an orderly stop may take before the daemon leaves anyway."`
}

// mostConnections is the largest max_connections of a PostgreSQL.
const mostConnections = 262_143

// Defaults are all defaults there are.
func Defaults() Config {
	return Config{
		Database:       "auto",
		Connections:    16,
		StateDir:       defaultStateDir(),
		Listen:         "127.0.0.1:8470",
		TokenRequests:  200,
		PandaLease:     100 * time.Minute,
		Generators:     2,
		LeaseFirst:     90 * time.Second,
		LeaseTTL:       180 * time.Second,
		LeaseRenew:     60 * time.Second,
		Sample:         time.Minute,
		KeepDecisions:  7 * 24 * time.Hour,
		KeepSamples:    30 * 24 * time.Hour,
		KeepHistory:    400 * 24 * time.Hour,
		KeepUsageHours: 400 * 24 * time.Hour,
		KeepAudit:      400 * 24 * time.Hour,
		MakingWait:     time.Second,
		LocalWait:      10 * time.Minute,
		GangHold:       time.Minute,
		LogFormat:      "text",
		LogLevel:       "info",
		LogPerSecond:   100,
		ShareMetrics:   "top",
		TraceOneIn:     100,
		StopWithin:     30 * time.Second,
	}
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
	if c.Database == "" {
		bad("database", "is empty; use auto or a DSN")
	}
	if c.Connections < 4 {
		bad("connections", "%d is too few, at least 4", c.Connections)
	}
	if c.Connections > mostConnections {
		bad("connections", "%d is too many, at most %d, which is what PostgreSQL can have", c.Connections, mostConnections)
	}
	if c.Database == "auto" && c.StateDir == "" {
		bad("state_dir", "is empty, and database auto needs it")
	}
	if c.Generators < 0 || c.Generators > 64 {
		bad("generators", "%d is not within 0 … 64", c.Generators)
	}
	if c.Sample < 100*time.Millisecond {
		bad("sample", "%s is less than 100ms", c.Sample)
	}
	if c.KeepDecisions < time.Hour {
		bad("keep_decisions", "%s is less than 1h", c.KeepDecisions)
	}
	if c.KeepSamples < time.Hour {
		bad("keep_samples", "%s is less than 1h", c.KeepSamples)
	}
	if c.KeepHistory != 0 && c.KeepHistory < c.KeepDecisions {
		bad("keep_history", "%s is less than keep_decisions, %s: a replay needs it; 0 keeps it for ever", c.KeepHistory, c.KeepDecisions)
	}
	errs = append(errs, c.validateUsage()...)
	if c.KeepAudit != 0 && c.KeepAudit < 24*time.Hour {
		bad("keep_audit", "%s is less than 24h; 0 keeps it for ever", c.KeepAudit)
	}
	if c.MakingWait < 10*time.Millisecond || c.MakingWait > time.Hour {
		bad("making_wait", "%s is not within 10ms … 1h", c.MakingWait)
	}
	if c.LocalWait < time.Second {
		bad("local_wait", "%s is less than 1s", c.LocalWait)
	}
	if c.GangHold < time.Second {
		bad("gang_hold", "%s is less than 1s", c.GangHold)
	}
	if c.StopWithin < time.Second {
		bad("stop_within", "%s is less than 1s", c.StopWithin)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		bad("log_format", "%q is neither text nor json", c.LogFormat)
	}
	if _, err := logs.ParseLevel(c.LogLevel); err != nil {
		bad("log_level", "%v", err)
	}
	if c.TokenRequests < 0 {
		bad("token_requests", "%d is less than 0", c.TokenRequests)
	}
	if c.TokenPulls < 0 {
		bad("token_pulls", "%d is less than 0", c.TokenPulls)
	}
	errs = append(errs, c.validateWatching()...)
	errs = append(errs, c.validateLeases()...)
	errs = append(errs, c.validateAddresses()...)
	errs = append(errs, c.validatePanda()...)
	return errors.Join(errs...)
}

// validateUsage checks how long roll-ups are kept.
func (c Config) validateUsage() (errs []error) {
	if c.KeepUsageHours != 0 && c.KeepUsageHours < 48*time.Hour {
		errs = append(errs, fmt.Errorf("keep_usage_hours: %s is less than 48h: what is asked of the last day needs them; 0 keeps them for ever", c.KeepUsageHours))
	}
	if c.KeepUsageDays != 0 && (c.KeepUsageHours == 0 || c.KeepUsageDays < c.KeepUsageHours) {
		errs = append(errs, fmt.Errorf("keep_usage_days: %s is less than keep_usage_hours, %s: days are what is left of hours; 0 keeps them for ever",
			c.KeepUsageDays, forEver(c.KeepUsageHours)))
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
	if c.LogPerSecond < 0 {
		errs = append(errs, fmt.Errorf("log_per_second: %d is less than 0", c.LogPerSecond))
	}
	if _, ok := ShareMetrics[c.ShareMetrics]; !ok {
		errs = append(errs, fmt.Errorf("share_metrics: %q is none of top, none, all, queues", c.ShareMetrics))
	}
	if u, err := url.Parse(c.Traces); err != nil || c.Traces != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		errs = append(errs, fmt.Errorf("traces: %q is not an address such as http://127.0.0.1:4318", c.Traces))
	}
	if c.TraceOneIn < 1 {
		errs = append(errs, fmt.Errorf("trace_one_in: %d is less than 1", c.TraceOneIn))
	}
	return errs
}

// ShareMetrics are the values of share_metrics.
var ShareMetrics = map[string]meter.ShareMetrics{"top": meter.TopShares, "none": meter.NoShares, "all": meter.AllShares,
	"queues": meter.QueueShares}

// validateLeases wants leases of whole seconds that outlive the pause between two renewals.
func (c Config) validateLeases() (errs []error) {
	outlives := func(key string, d time.Duration) {
		switch {
		case d < time.Second || d%time.Second != 0:
			errs = append(errs, fmt.Errorf("%s: %s is not one or more whole seconds", key, d))
		case c.LeaseRenew >= d:
			errs = append(errs, fmt.Errorf("%s: %s is not longer than lease_renew, %s", key, d, c.LeaseRenew))
		}
	}
	outlives("lease_first", c.LeaseFirst)
	outlives("lease_ttl", c.LeaseTTL)
	if c.LeaseRenew < 100*time.Millisecond {
		errs = append(errs, fmt.Errorf("lease_renew: %s is less than 100ms", c.LeaseRenew))
	}
	return errs
}

// Closed says whether the API asks for a credential.
func (c Config) Closed() bool {
	return c.TokenFile != "" || c.RequireToken || c.TLSRoles != "" || c.Issuers != ""
}

func (c Config) validateAddresses() (errs []error) {
	local, err := Loopback(c.Listen)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("listen: %w", err))
	case !local && !c.Closed() && !c.Insecure:
		errs = append(errs, fail.Hintf(fmt.Errorf("listen: %s is reachable from other hosts, and no token is asked for", c.Listen),
			"Give --require-token, --token-file FILE, --issuers FILE, or --tls-client-ca with --tls-roles, or --insecure if you mean it."))
	}
	errs = append(errs, c.validateTLS()...)
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

// Keep is for how long things are kept.
func (c Config) Keep() upkeep.Keep {
	return upkeep.Keep{Log: c.KeepDecisions, History: c.KeepHistory, Samples: c.KeepSamples, Hours: c.KeepUsageHours, Days: c.KeepUsageDays}
}
