package panda

import (
	"strings"
	"testing"
)

// Whatever is in a file of credentials is read or refused with the place; what was read is asked without harm, and lets
// nobody in that no line fits.
func FuzzCredentials(f *testing.F) {
	for _, src := range []string{tokenFile, userFile, "https://a b c robot:d\n", `"a\"b" $1`, "\x00", `"(?P<x>.)" ${x}y atlas.[ab]`, "a 0123456789abcdef [", `"\" x`} {
		f.Add(src, "/CN=Ann", "atlas.pilot")
	}
	f.Fuzz(func(t *testing.T, src, dn, origin string) {
		placed := func(err error) {
			if err != nil && !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("no place in %v", err)
			}
		}
		tokens, err := ReadTokens("f", strings.NewReader(src))
		placed(err)
		for _, token := range tokens {
			if token.Name == "" {
				t.Error("a token without a name")
			}
			token.origins.allow(origin)
		}
		users, err := ReadUsers("f", strings.NewReader(src))
		placed(err)
		if err == nil {
			if name, row := users.find(dn); (row == nil) != (name == "") || row != nil && !row.subject.MatchString(dn) {
				t.Errorf("%q stands for %q", dn, name)
			}
		}
		issuers, err := ReadIssuers(nil)("f", strings.NewReader(src))
		placed(err)
		for _, i := range issuers {
			if err == nil && (len(i.origins) == 0 || len(i.Audiences()) == 0) {
				t.Errorf("%s may speak for all", i.URL)
			}
		}
	})
}
