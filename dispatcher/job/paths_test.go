package job

import (
	"strings"
	"testing"
)

func TestPathsAreFilled(t *testing.T) {
	paths := Paths{Dir: "/data/{{.Index}}", Stdout: "/log/{{.Task}}_{{.Index+1}}.out", Stderr: "/log/{{.Job}}.err"}
	r := NewRecipe(Payload{Task: 5, Command: []string{"run"}, Paths: paths, Roles: map[string][]string{"r": {"role"}}})
	want := Paths{Dir: "/data/3", Stdout: "/log/5_4.out", Stderr: "/log/17.err"}
	if got := r.Render(Piece{Job: 17, Index: 3}); got.Paths != want {
		t.Errorf("%+v, want %+v", got.Paths, want)
	}
	if got := r.Render(Piece{Job: 17, Index: 3, Inputs: []string{"0/r/0"}}); got.Paths != want || got.Command[0] != "role" {
		t.Errorf("of a role: %+v, want %+v", got, want)
	}
	if r.Paths != paths {
		t.Errorf("the template became %+v", r.Paths)
	}
}

// A path that nobody could mean is refused before anything is stored; a placeholder cannot choose the root.
func TestPathsAreChecked(t *testing.T) {
	for text, fine := range map[string]bool{
		"/data": true, "/data/{{.Index}}/{{.Job}}": true, "/": true, "data": false, "./data": false, "~/data": false, "{{.Input}}": false,
		"/a\x00b": false, "/{{.Nothing}}": false, "/" + strings.Repeat("x", 5000): false,
	} {
		for i, p := range []Paths{{Dir: text}, {Stdout: text}, {Stderr: text}} {
			want := fine && (text != "/" || i == 0)
			if err := (Payload{Command: []string{"run"}, Paths: p}).Check(); (err == nil) != want {
				t.Errorf("%.20q as %d: %v", text, i, err)
			}
		}
	}
}
