package config

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// A divvy.yml is refused with the place of each fault, or is what it says, also when it was written anew.
func FuzzConfig(f *testing.F) {
	var all bytes.Buffer
	if err := Print(&all, Defaults()); err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{all.String(), "", "# only\n", "null\n", "[1]", "listen: :1\nlisten: :2\n", "lisen: x", "connections: many\nsample: 1", "database: {a: b}",
		"database: postgres://u:secret@h/d", "database: host=h password=x y", "a: &a 1\nlisten: *a", "--- 1\n--- 2\n", "listen: \"a\\nb\\x00\"", "? |\n  a\n  b\n: 1\n", "\x00", "<<: {listen: x}"} {
		f.Add([]byte(s))
	}
	placed := regexp.MustCompile(`^divvy\.yml(:[1-9][0-9]*:[1-9][0-9]*)?: .`)
	f.Fuzz(func(t *testing.T, src []byte) {
		c := Defaults()
		if err := c.decode("divvy.yml", src); err != nil {
			if _, broken := strings.CutPrefix(err.Error(), "divvy.yml: yaml: "); broken { // its faults are a list, with lines
				return
			}
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !placed.MatchString(line) {
					t.Errorf("no place in %q", line)
				}
			}
			return
		}
		_ = c.Validate() // looks at whatever may stand there
		var written bytes.Buffer
		if err := Print(&written, c); err != nil {
			t.Fatal(err)
		}
		c.Database.DSN, c.Database.Direct = HidePassword(c.Database.DSN), HidePassword(c.Database.Direct)
		again := Defaults()
		if err := again.decode("divvy.yml", written.Bytes()); err != nil {
			t.Fatalf("written as %s: %v", written.Bytes(), err)
		}
		if again != c {
			t.Errorf("written as %s, which is %+v, not %+v", written.Bytes(), again, c)
		}
	})
}
