package access

import (
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
		return keys.CheckGroups(c.subject, c.User)
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf(`%s: no line in it; write one a kind of certificate: "/DC=org/DC=grid/CN=(\w+)" submitter user:$1`, name)
	}
	return all, err
}

// Caller is for whom a chain of certificates stands that a handshake has found good; proxies stand for their owner. nil:
// nobody. dn is the subject, for the refusal.
func (cs Certificates) Caller(chain []*x509.Certificate) (c *Caller, dn string) {
	owner := keys.OwnerOf(chain)
	if owner == nil {
		return nil, ""
	}
	dn = keys.DN(owner)
	for _, one := range cs {
		at := one.subject.FindStringSubmatchIndex(dn)
		if at == nil {
			continue
		}
		user := string(one.subject.ExpandString(nil, one.User, dn, at))
		if one.role == Submitter && !userName(user) {
			continue
		}
		return one.caller(dn, "certificate "+dn, user), dn
	}
	return nil, dn
}
