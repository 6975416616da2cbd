package panda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/keys"
)

// Issuer is a line of panda_issuers: whose JSON web tokens are good, for which audience, and for what origins.
type Issuer struct {
	*keys.Issuer
	origins origins  // at least one
	robots  []string // clients whose tokens name no groups and may speak for all of them
}

// Issuers are asked by the address in the token.
type Issuers []*Issuer

// robotWord is in front of clients in panda_issuers.
const robotWord = "robot:"

// ReadIssuers makes what reads a panda_issuers file: the address of an issuer, the audience of tokens for this daemon (several
// with commas), and the origins that they may speak for, among them robot:<client>. No issuer is asked for anything before a
// token comes.
func ReadIssuers(log *slog.Logger) func(name string, r io.Reader) (Issuers, error) {
	return func(name string, r io.Reader) (Issuers, error) {
		var all Issuers
		err := keys.EachLine(name, r, func(_ int, line string) error {
			i, err := issuerOf(strings.Fields(line), log)
			if err == nil && all.called(i.URL) != nil {
				err = fmt.Errorf("issuer %s stands in a line above", i.URL)
			}
			all = append(all, i)
			return err
		})
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s: no issuer in it; write one a line: https://iam.example.org/ audience vo vo.*", name)
		}
		return all, err
	}
}

func issuerOf(words []string, log *slog.Logger) (*Issuer, error) {
	if len(words) < 3 {
		return nil, fmt.Errorf("expected an issuer, an audience and at least one origin, got %d words", len(words))
	}
	made, err := keys.NewIssuer(words[0], words[1], log)
	if err != nil {
		return nil, err
	}
	i := &Issuer{Issuer: made}
	var globs []string
	for _, w := range words[2:] {
		if client, robot := strings.CutPrefix(w, robotWord); robot {
			i.robots = append(i.robots, client)
			continue
		}
		globs = append(globs, w)
	}
	if slices.Contains(i.robots, "") {
		return nil, errors.New("a robot has no name")
	}
	if len(globs) == 0 {
		return nil, errors.New("expected at least one origin, such as atlas or atlas.*: it bounds what the issuer can vouch for")
	}
	i.origins, err = readOrigins(globs)
	return i, err
}

// called finds the issuer with an address.
func (is Issuers) called(address string) *Issuer {
	for _, i := range is {
		if i.Is(address) {
			return i
		}
	}
	return nil
}

// maxAddress bounds what is repeated of a token that may be anybody's.
const maxAddress = 200

// check verifies a token, and tells whose it is and what origins it may speak for: at least one.
func (is Issuers) check(ctx context.Context, token string) (name string, _ origins, _ error) {
	address, isToken := keys.IssuerIn(token)
	if !isToken {
		return "", nil, errUnknownToken
	}
	i := is.called(address)
	if i == nil {
		return "", nil, fmt.Errorf("the token's issuer %q is not in panda_issuers", cut(address, maxAddress))
	}
	good, err := i.Verify(ctx, token)
	if err != nil {
		return "", nil, err
	}
	var said claims
	if err := good.Claims(&said); err != nil {
		return "", nil, errors.New("the token's claims cannot be read: expected client_id and groups as texts")
	}
	return i.vouch(good, said)
}

// claims are what of a token decides, beside those that every one has.
type claims struct {
	ClientID string   `json:"client_id"`
	Groups   []string `json:"groups"`
	WLCG     []string `json:"wlcg.groups"`
}

// vouch is for whom a verified token speaks: the groups /vo and /vo/role are the origins vo and vo.role, as far as the
// issuer may speak for them.
func (i *Issuer) vouch(t keys.Proof, said claims) (name string, _ origins, _ error) {
	if name = t.Subject; name == "" || clean(strings.TrimSpace(name)) != name { // who has no name would be bound to nobody's tasks
		return "", nil, fmt.Errorf("the token's subject %q is no name of a user", cut(name, maxAddress))
	}
	if slices.Contains(i.robots, said.ClientID) || slices.Contains(i.robots, t.Subject) {
		return name, i.origins, nil
	}
	var may origins
	for _, group := range slices.Concat(said.Groups, said.WLCG) {
		for _, o := range originsOf(group) {
			if i.origins.allow(o) && !slices.Contains(may, o) {
				may = append(may, o)
			}
		}
	}
	if len(may) == 0 {
		return "", nil, fmt.Errorf("the token of %s names no group that panda_issuers has an origin for", name)
	}
	return name, may, nil
}

// originsOf are those that a group stands for: its VO, and a role in it.
func originsOf(group string) []string {
	vo, role, _ := strings.Cut(strings.TrimPrefix(group, "/"), "/")
	switch {
	case vo == "" || strings.ContainsAny(group, `*?[\`): // would be read as a glob
		return nil
	case role == "" || strings.Contains(role, "/"):
		return []string{vo}
	}
	return []string{vo, vo + "." + role}
}
