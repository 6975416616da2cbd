package api

import (
	"bytes"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/access"
)

// A token file is refused with the line that is wrong and no token in the words, or has each of its lines as a token.
func FuzzTokenFile(f *testing.F) {
	for _, s := range []string{"0123456789abcdef\n", "# a\n\n0123456789abcdef0123\r\n  0123456789abcdef  ", "short", "0123456789abcdef x", "", "\x00", "# only", strings.Repeat("a", 70_000)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		tokens, err := ReadTokens(bytes.NewReader(src))
		if err != nil {
			for line := range strings.Lines(string(src)) {
				if line = strings.TrimSpace(line); len(line) >= minToken && !strings.HasPrefix(line, "#") && strings.Contains(err.Error(), line) {
					t.Errorf("%q tells a token", err)
				}
			}
			if !strings.HasPrefix(err.Error(), "token file") {
				t.Errorf("%q names no place", err)
			}
			return
		}
		var want []Token
		for _, line := range strings.Split(string(src), "\n") {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				want = append(want, access.HashOf(line))
			}
		}
		if len(want) != len(tokens) {
			t.Fatalf("%d tokens of %d lines", len(tokens), len(want))
		}
		for i := range want {
			if want[i] != tokens[i] {
				t.Errorf("token %d is another", i)
			}
		}
	})
}
