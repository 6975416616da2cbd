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
	return c.PandaTokens != "" || c.PandaUsers != "" || c.PandaIssuers != "" || c.Closed()
}

// PandaFiles are those with its credentials.
func (c Config) PandaFiles() (files []string) {
	for _, f := range []string{c.PandaTokens, c.PandaUsers, c.PandaIssuers} {
		if f != "" {
			files = append(files, f)
		}
	}
	return files
}

// PandaOpen says whether it lets everybody in who reaches it: because the configuration says so, or because no
// credential is configured, which validate allows on loopback and beside an API that is open itself.
func (c Config) PandaOpen() bool { return c.PandaAnonymous || !c.pandaCredentials() }

// needing is what notes keys that are of no use without another.
func needing(errs *[]error) func(key, value, other, otherValue, why string) {
	return func(key, value, other, otherValue, why string) {
		if value != "" && otherValue == "" {
			*errs = append(*errs, fmt.Errorf("%s: needs %s: %s", key, other, why))
		}
	}
}

// validateTLS checks the keys of the HTTP API's TLS against each other. Their files are read when the daemon starts.
func (c Config) validateTLS() (errs []error) {
	needs := needing(&errs)
	needs("tls_cert", c.TLSCert, "tls_key", c.TLSKey, "a certificate is of no use without its key")
	needs("tls_key", c.TLSKey, "tls_cert", c.TLSCert, "a key is of no use without its certificate")
	needs("tls_client_ca", c.TLSClientCA, "tls_cert", c.TLSCert, "client certificates come with TLS only")
	needs("tls_client_ca", c.TLSClientCA, "tls_roles", c.TLSRoles, "a certificate would stand for nobody")
	needs("tls_roles", c.TLSRoles, "tls_client_ca", c.TLSClientCA, "no certificate could be checked")
	if strings.ContainsAny(c.TLSPeerName, ":/*, ") && net.ParseIP(c.TLSPeerName) == nil {
		errs = append(errs, fmt.Errorf("tls_peer_name: %q is not the name of a host, such as divvy.example.org", c.TLSPeerName))
	}
	return errs
}

// validatePanda checks the keys of PanDA's API against each other. Their files are read when the daemon starts.
func (c Config) validatePanda() (errs []error) {
	needs := needing(&errs)
	needs("panda_cert", c.PandaCert, "panda_listen", c.PandaListen, "listen has TLS by tls_cert")
	needs("panda_cert", c.PandaCert, "panda_key", c.PandaKey, "a certificate is of no use without its key")
	needs("panda_key", c.PandaKey, "panda_cert", c.PandaCert, "a key is of no use without its certificate")
	needs("panda_client_ca", c.PandaClientCA, "panda_cert", c.PandaCert, "client certificates come with TLS only")
	needs("panda_client_ca", c.PandaClientCA, "panda_users", c.PandaUsers, "a certificate would stand for nobody")
	needs("panda_users", c.PandaUsers, "panda_client_ca", c.PandaClientCA, "no certificate could be checked")
	if u, err := url.Parse(c.PandaURL); err != nil || c.PandaURL != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		errs = append(errs, fmt.Errorf("panda_url: %q is not an address such as https://divvy.example.org:25443", c.PandaURL))
	}
	if c.PandaLease < time.Second || c.PandaLease%time.Second != 0 {
		errs = append(errs, fmt.Errorf("panda_lease: %s is not one or more whole seconds", c.PandaLease))
	}
	if c.PandaListen == "" {
		return errs // whether listen may be open is said already
	}
	local, err := Loopback(c.PandaListen)
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("panda_listen: %w", err))
	case !local && !c.pandaCredentials() && !c.PandaAnonymous:
		errs = append(errs, fail.Hintf(fmt.Errorf("panda_listen: %s is reachable from other hosts, and no credential is asked for", c.PandaListen),
			"Give --panda-tokens FILE, --panda-issuers FILE, or --panda-client-ca with --panda-users, or --panda-anonymous if you mean it."))
	}
	return errs
}
