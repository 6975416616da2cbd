package access

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/divvyhq/divvy/internal/keys"
)

// minToken is the shortest token that a file may hold; shorter ones are typing errors or guessable.
const minToken = 16

// ReadTokens reads a token file. A line is a token, which may do everything, or a token, its name, a role and what it is bound to:
// 3f0c…e1 cern-pilots pilot queue:CERN. A name may have several tokens, so that one can be replaced while pilots still
// have the old one. Faults have their place, name:line, and do not repeat the token.
func ReadTokens(name string, r io.Reader) (all []Fixed, _ error) {
	lines := map[Hash]int{}
	err := keys.EachLine(name, r, func(n int, line string) error {
		words := strings.Fields(line)
		h := HashOf(words[0])
		switch {
		case len(words[0]) < minToken:
			return fmt.Errorf("a token has at least %d characters, this one has %d", minToken, len(words[0]))
		case lines[h] > 0:
			return fmt.Errorf("this token stands in line %d already", lines[h])
		case len(words) == 2:
			return errors.New("expected a token alone, or a token, its name and a role; a token has no blanks")
		}
		lines[h] = n
		c := &Caller{Name: "token file", Role: Admin, From: fmt.Sprintf("token file %x", h[:4])}
		if len(words) > 2 {
			g, err := readGrant(words[2:])
			if err != nil {
				return err
			}
			if g.user != g.User {
				return fmt.Errorf("user:%s is for submitters: the name of a token stands before its role", g.user)
			}
			c.Name, c.Role, c.Subject, c.origins = clip(words[1]), g.role, g.Subject, g.origins
		}
		all = append(all, Fixed{h, c})
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: no token in it; write one a line, for instance of `openssl rand -hex 24`", name)
	}
	return all, err
}
