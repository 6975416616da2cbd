package config

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// PandaOpen says whether PanDA's API lets everybody in who reaches it: because the configuration says so, or because no
// credential is configured, which Validate allows on loopback and beside an API that is open itself.
func (c Config) PandaOpen() bool { return c.Panda.Anonymous || !c.Access.Closed() }

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
	case !local && c.PandaOpen() && !c.Panda.Anonymous:
		errs = append(errs, fail.Hintf(fmt.Errorf("panda_listen: %s is reachable from other hosts, and no credential is asked for", c.Panda.Listen),
			"Give --require-token, --token-file FILE, --issuers FILE, or --tls-client-ca with --tls-roles, or --panda-anonymous if you mean it."))
	}
	return errs
}
