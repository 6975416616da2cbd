package panda

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/keys"
)

// Token is a named token of panda_tokens. The token itself is not kept.
type Token struct {
	Name    string
	sum     [sha256.Size]byte
	origins origins
}

// User is a line of panda_users: which subjects of certificates stand for whom.
type User struct {
	subject *regexp.Regexp
	name    string // may use the groups of subject
	origins origins
}

// Users are asked in order; the first whose pattern matches the whole subject counts.
type Users []User

// find is the user of a subject and the line that says so; nil when there is none.
func (us Users) find(dn string) (string, *User) {
	for i, u := range us {
		if at := u.subject.FindStringSubmatchIndex(dn); at != nil {
			if name := string(u.subject.ExpandString(nil, u.name, dn, at)); name != "" {
				return name, &us[i]
			}
		}
	}
	return "", nil
}

// origins are globs of the vo[.role] that a credential may speak for; none = any.
type origins []string

func (o origins) allow(origin string) bool {
	return len(o) == 0 || slices.ContainsFunc(o, func(glob string) bool {
		ok, err := path.Match(glob, origin)
		return ok && err == nil
	})
}

// first is the first of them that is no glob; "" when there is none.
func (o origins) first() string {
	for _, origin := range o {
		if !strings.ContainsAny(origin, `*?[\`) {
			return origin
		}
	}
	return ""
}

// Bounds of a line: shorter tokens are typing errors or guessable.
const (
	minToken   = 16
	maxSubject = 1000
)

// ReadTokens reads a panda_tokens file: a name, a token and, if it is bound to some, the origins that it may speak
// for. A name may have several tokens, so that one can be replaced while pilots still have the old one.
func ReadTokens(name string, r io.Reader) ([]Token, error) {
	var tokens []Token
	lines := map[[sha256.Size]byte]int{}
	err := keys.EachLine(name, r, func(n int, line string) error {
		words := strings.Fields(line)
		if len(words) < 2 {
			return fmt.Errorf("expected a name, a token and perhaps origins, got %d word", len(words))
		}
		if len(words[1]) < minToken {
			return fmt.Errorf("a token has at least %d characters, that of %s has %d", minToken, words[0], len(words[1]))
		}
		t := Token{Name: words[0], sum: sha256.Sum256([]byte(words[1]))}
		if first, dup := lines[t.sum]; dup {
			return fmt.Errorf("this token stands in line %d already", first)
		}
		lines[t.sum] = n
		var err error
		t.origins, err = readOrigins(words[2:])
		tokens = append(tokens, t)
		return err
	})
	if err == nil && len(tokens) == 0 {
		err = fmt.Errorf("%s: no token in it; write one a line: a name, and for instance what `openssl rand -hex 24` prints", name)
	}
	return tokens, err
}

// line of panda_users: "pattern" user origins…; a quote inside of the pattern is written \".
var userLine = regexp.MustCompile(`^"((?:[^"\\]|\\.)*)"\s+(\S+)((?:\s+\S+)*)$`)

// ReadUsers reads a panda_users file: a pattern in quotes, as a grid-mapfile has its subjects, the user and, if that is
// bound to some, the origins that it may speak for.
func ReadUsers(name string, r io.Reader) (Users, error) {
	var users Users
	err := keys.EachLine(name, r, func(_ int, line string) error {
		m := userLine.FindStringSubmatch(line)
		if m == nil {
			return fmt.Errorf(`expected "pattern of subjects" user, for instance "/DC=ch/DC=cern/.*/CN=Robot: (\w+) .*" $1`)
		}
		pattern := strings.ReplaceAll(m[1], `\"`, `"`)
		if len(pattern) > maxSubject {
			return fmt.Errorf("the pattern has %d characters, more than %d", len(pattern), maxSubject)
		}
		if _, err := regexp.Compile(pattern); err != nil { // by itself: "a)|(b" is no pattern
			return fmt.Errorf("%w", err)
		}
		u := User{subject: regexp.MustCompile(`\A(?:` + pattern + `)\z`), name: m[2]}
		var err error
		u.origins, err = readOrigins(strings.Fields(m[3]))
		users = append(users, u)
		return errors.Join(keys.CheckGroups(u.subject, u.name), err)
	})
	if err == nil && len(users) == 0 {
		err = fmt.Errorf("%s: no line in it; a certificate would stand for nobody", name)
	}
	return users, err
}

func readOrigins(words []string) (origins, error) {
	for _, w := range words {
		if _, err := path.Match(w, ""); err != nil {
			return nil, fmt.Errorf("origin %q is no glob: * stands for any letters, ? for one, [ab] for one of these", w)
		}
	}
	return words, nil
}
