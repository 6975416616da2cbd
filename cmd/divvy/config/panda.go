package config

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// pandaCredentials says whether PanDA's API asks for any credential at all.
func (c Config) pandaCredentials() bool {
	return c.Panda.Tokens != "" || c.Panda.Users != "" || c.Panda.Issuers != "" || c.Access.Closed()
}

// Files are those with its credentials.
func (p Panda) Files() (files []string) {
	for _, f := range []string{p.Tokens, p.Users, p.Issuers} {
		if f != "" {
			files = append(files, f)
		}
	}
	return files
}

// PandaOpen says whether it lets everybody in who reaches it: because the configuration says so, or because no
// credential is configured, which validate allows on loopback and beside an API that is open itself.
func (c Config) PandaOpen() bool { return c.Panda.Anonymous || !c.pandaCredentials() }

// needing is what notes keys that are of no use without another.
func needing(errs *[]error) func(key, value, other, otherValue, why string) {
	return func(key, value, other, otherValue, why string) {
		if value != "" && otherValue == "" {
			*errs = append(*errs, fmt.Errorf("%s: needs %s: %s", key, other, why))
		}
	}
}

// validate checks the keys of the HTTP API's TLS against each other. Their files are read when the daemon starts.
func (t TLS) validate() (errs []error) {
	needs := needing(&errs)
	needs("tls_cert", t.Cert, "tls_key", t.Key, "a certificate is of no use without its key")
	needs("tls_key", t.Key, "tls_cert", t.Cert, "a key is of no use without its certificate")
	needs("tls_client_ca", t.ClientCA, "tls_cert", t.Cert, "client certificates come with TLS only")
	needs("tls_client_ca", t.ClientCA, "tls_roles", t.Roles, "a certificate would stand for nobody")
	needs("tls_roles", t.Roles, "tls_client_ca", t.ClientCA, "no certificate could be checked")
	if strings.ContainsAny(t.PeerName, ":/*, ") && net.ParseIP(t.PeerName) == nil {
		errs = append(errs, fmt.Errorf("tls_peer_name: %q is not the name of a host, such as divvy.example.org", t.PeerName))
	}
	return errs
}

// validatePanda checks the keys of PanDA's API against each other. Their files are read when the daemon starts.
func (c Config) validatePanda() (errs []error) {
	needs := needing(&errs)
	needs("panda_cert", c.Panda.Cert, "panda_listen", c.Panda.Listen, "listen has TLS by tls_cert")
	needs("panda_cert", c.Panda.Cert, "panda_key", c.Panda.Key, "a certificate is of no use without its key")
	needs("panda_key", c.Panda.Key, "panda_cert", c.Panda.Cert, "a key is of no use without its certificate")
	needs("panda_client_ca", c.Panda.ClientCA, "panda_cert", c.Panda.Cert, "client certificates come with TLS only")
	needs("panda_client_ca", c.Panda.ClientCA, "panda_users", c.Panda.Users, "a certificate would stand for nobody")
	needs("panda_users", c.Panda.Users, "panda_client_ca", c.Panda.ClientCA, "no certificate could be checked")
	if u, err := url.Parse(c.Panda.URL); err != nil || c.Panda.URL != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		errs = append(errs, fmt.Errorf("panda_url: %q is not an address such as https://divvy.example.org:25443", c.Panda.URL))
	}
	if c.Panda.Lease < time.Second || c.Panda.Lease%time.Second != 0 {
		errs = append(errs, fmt.Errorf("panda_lease: %s is not one or more whole seconds", c.Panda.Lease))
	}
	if c.Panda.Listen == "" {
		return errs // whether listen may be open is said already
	}
	local, err := Loopback(c.Panda.Listen)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("panda_listen: %w", err))
	case !local && !c.pandaCredentials() && !c.Panda.Anonymous:
		errs = append(errs, fail.Hintf(fmt.Errorf("panda_listen: %s is reachable from other hosts, and no credential is asked for", c.Panda.Listen),
			"Give --panda-tokens FILE, --panda-issuers FILE, or --panda-client-ca with --panda-users, or --panda-anonymous if you mean it."))
	}
	return errs
}
