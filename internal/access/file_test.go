package access

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestReadTokens(t *testing.T) {
	const file = "# pilots\n\n0123456789abcdef-secret\ncern-token-0123456789 cern pilot queue:CERN queue:BNL origin:atlas.pilot\nalice-token-0123456789 al submitter user:alice\n"
	tokens, err := ReadTokens("f", strings.NewReader(file))
	if err != nil || len(tokens) != 3 {
		t.Fatal(tokens, err)
	}
	b := NewBook(nil, tokens...)
	for token, want := range map[string]string{"0123456789abcdef-secret": "token file admin []", "cern-token-0123456789": "cern pilot queues CERN, BNL[atlas.pilot]",
		"alice-token-0123456789": "al submitter user alice[]", "cern": "nobody"} {
		got := "nobody"
		if c := b.Find(token); c != nil {
			got = fmt.Sprintf("%s %s %s%v", c.Name, c.Role, c.Subject, c.origins)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", token, got, want)
		}
	}
	b.Fix(tokens[:1])
	if c := b.Find("cern-token-0123456789"); c == nil {
		t.Error("a token went before its Refresh")
	}
	for file, says := range map[string]string{
		"":                          "f: no token in it; write one a line",
		"# only a comment\n":        "f: no token in it",
		"short\n":                   "f:1: a token has at least 16 characters, this one has 5",
		"\n0123456789abcdef x\n":    "f:2: expected a token alone, or a token, its name and a role",
		"0123456789abcdef x boss\n": `f:1: role is "boss"`,
		"0123456789abcdef x reader\n0123456789abcdef": "f:2: this token stands in line 1 already",
		"0123456789abcdef x pilot user:ann":           "f:1: user:ann is for submitters",
		"0123456789abcdef x pilot origin:[a":          `f:1: origin "[a" is no glob`,
	} {
		if _, err := ReadTokens("f", strings.NewReader(file)); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%q: %v, want %s", file, err, says)
		}
	}
}

// A credential with origins is good on PanDA's API alone, and speaks for these.
func TestOrigins(t *testing.T) {
	c := &Caller{Name: "x", Role: Pilot, origins: origins{"atlas.*", "cms"}}
	for as, want := range map[As]string{
		{}: "x is for PanDA's API only", {Panda: true}: "speaks for cms", {Panda: true, Origin: "atlas.pilot"}: "speaks for atlas.pilot",
		{Panda: true, Origin: "lhcb"}: "x may not speak for lhcb, only for atlas.*, cms",
	} {
		spoken, err := c.as(as)
		got := fmt.Sprint(err)
		if err == nil {
			got = "speaks for " + spoken.Origin
		}
		if got != want {
			t.Errorf("%+v: %s, want %s", as, got, want)
		}
	}
	if c.Origin != "" {
		t.Error("a caller of the book was written")
	}
}

// A token file is refused with the line that is wrong and no token in the words, or each of its lines has a token.
func FuzzTokenFile(f *testing.F) {
	for _, s := range []string{"0123456789abcdef\n", "# a\n\n0123456789abcdef0123\r\n  0123456789abcdef  ", "short", "0123456789abcdef x", "0123456789abcdef x pilot origin:a.*", "", "\x00", "# only", strings.Repeat("a", 70_000)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		tokens, err := ReadTokens("f", bytes.NewReader(src))
		var first []string
		for line := range strings.Lines(string(src)) {
			if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
				first = append(first, words[0])
			}
		}
		switch {
		case err != nil && !strings.HasPrefix(err.Error(), "f:"):
			t.Errorf("%q names no place", err)
		case err == nil && len(first) != len(tokens):
			t.Fatalf("%d tokens of %d lines", len(tokens), len(first))
		}
		for i, token := range first {
			if err == nil && tokens[i].Hash != HashOf(token) {
				t.Errorf("token %d is another", i)
			}
		}
	})
}
