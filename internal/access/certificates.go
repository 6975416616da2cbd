package access

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/divvyhq/divvy/internal/keys"
)

// Certificates say for whom the client certificates stand that a listener lets in: the first line whose pattern is the whole
// subject counts.
type Certificates []certificate

type certificate struct {
	subject *regexp.Regexp
	grant
}

var certificateLine = regexp.MustCompile(`^"((?:[^"\\]|\\.)*)"((?:\s+\S+)+)$`)

// ReadCertificates reads lines of a pattern of subjects in quotes, as grid-mapfiles have them, a role, and what it is bound to:
// "/DC=org/CN=(\w+)" submitter user:$1. Faults have their place: name:line.
func ReadCertificates(name string, r io.Reader) (Certificates, error) {
	var all Certificates
	err := keys.EachLine(name, r, func(_ int, line string) error {
		m := certificateLine.FindStringSubmatch(line)
		if m == nil {
			return errors.New(`expected "pattern of subjects" role …, for instance "/DC=org/DC=grid/CN=(\w+)" submitter user:$1`)
		}
		pattern := strings.ReplaceAll(m[1], `\"`, `"`)
		if _, err := regexp.Compile(pattern); err != nil { // by itself: "a)|(b" is no pattern
			return err
		}
		g, err := readGrant(strings.Fields(m[2]))
		if err != nil {
			return err
		}
		c := certificate{regexp.MustCompile(`\A(?:` + pattern + `)\z`), g}
		all = append(all, c)
		return keys.CheckGroups(c.subject, c.user)
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf(`%s: no line in it; write one a kind of certificate: "/DC=org/DC=grid/CN=(\w+)" submitter user:$1`, name)
	}
	return all, err
}

// caller returns the caller of a chain of certificates that a handshake has found good; proxies stand for their owner.
func (cs Certificates) caller(chain []*x509.Certificate, as As) (*Caller, error) {
	owner := keys.OwnerOf(chain)
	if owner == nil {
		return nil, nil
	}
	var why error
	dn := keys.DN(owner)
	for _, one := range cs {
		at := one.subject.FindStringSubmatchIndex(dn)
		if at == nil {
			continue
		}
		user := string(one.subject.ExpandString(nil, one.user, dn, at))
		if one.user != "" && !userName(user) {
			continue
		}
		c, err := one.caller(Caller{Name: dn, From: "certificate " + dn, DN: dn, Until: chain[0].NotAfter}, user).as(as)
		if err == nil {
			return c, nil
		}
		why = cmp.Or(why, err)
	}
	return nil, cmp.Or(why, fmt.Errorf("no line of tls_roles fits the certificate %s", dn))
}
