package job

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRender(t *testing.T) {
	matrix := []Axis{{"os", []string{"el9", "el8"}}, {"seed", []string{"1", "2", "3"}}}
	for _, c := range []struct {
		name    string
		payload Payload
		piece   Piece
		command []string
		env     map[string]string
	}{
		{"no placeholder", Payload{Command: []string{"run", "}}", "a"}, Env: map[string]string{"A": "b"}}, Piece{Index: 7},
			[]string{"run", "}}", "a"}, map[string]string{"A": "b"}},
		{"no environment", Payload{Command: []string{"run"}}, Piece{}, []string{"run"}, map[string]string{}},
		{"index", Payload{Command: []string{"run", "{{.Index}}", "job-{{ .Index }}.out"}}, Piece{Index: 123},
			[]string{"run", "123", "job-123.out"}, map[string]string{}},
		{"index and more", Payload{Command: []string{"run", "{{.Index+1}}", "job-{{ .Index+70 }}.out"}}, Piece{Index: 123},
			[]string{"run", "124", "job-193.out"}, map[string]string{}},
		{"several in one", Payload{Command: []string{"{{.FirstEvent}}+{{.Events}}/{{.Index}}"}}, Piece{Index: 1, FirstEvent: 10, Events: 5},
			[]string{"10+5/1"}, map[string]string{}},
		{"only the environment has one", Payload{Command: []string{"run"}, Env: map[string]string{"N": "n{{.Index}}", "M": "m"}}, Piece{Index: 2},
			[]string{"run"}, map[string]string{"N": "n2", "M": "m"}},
		{"inputs, which are not read again", Payload{Command: []string{"run", "{{.Inputs}}", "{{ .Inputs }}", "x{{.Input}}"}},
			Piece{Inputs: []string{"a", "{{.Index}}"}},
			[]string{"run", "a", "{{.Index}}", "a {{.Index}}", "xa {{.Index}}"}, map[string]string{"DIVVY_INPUTS": "a\n{{.Index}}"}},
		{"inputs of a command without placeholders", Payload{Command: []string{"run"}, Env: map[string]string{"A": "b"}}, Piece{Inputs: []string{"a"}},
			[]string{"run"}, map[string]string{"A": "b", "DIVVY_INPUTS": "a"}},
		{"braces", Payload{Command: []string{"docker", "--format", "{{{{.ID}}", "{{{.Index}}}", "{{{{{{.Index}}", "{", "{{{{{"}, Env: map[string]string{"A": "{{{{.B}}"}}, Piece{Index: 3},
			[]string{"docker", "--format", "{{.ID}}", "{3}", "{{3", "{", "{{{"}, map[string]string{"A": "{{.B}}"}},
		{"job and task", Payload{Task: 5, Command: []string{"run", "{{.Task}}-{{.Job}}"}}, Piece{Job: 17}, []string{"run", "5-17"}, map[string]string{}},
		{"matrix", Payload{Command: []string{"run", "{{.os}}", "{{.seed}}"}, Matrix: matrix}, Piece{Index: 4},
			[]string{"run", "el8", "2"}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.payload.Check(); err != nil {
				t.Fatal(err)
			}
			got := NewRecipe(c.payload).Render(c.piece)
			if !slices.Equal(got.Command, c.command) || got.Env == nil || !maps.Equal(got.Env, c.env) {
				t.Errorf("%q %q, want %q %q", got.Command, got.Env, c.command, c.env)
			}
		})
	}
}

// A lease of a job with inputs must not write into the environment that others share.
func TestRenderSharesNothingThatDiffers(t *testing.T) {
	r := NewRecipe(Payload{Command: []string{"run"}, Env: map[string]string{"A": "b"}})
	r.Render(Piece{Inputs: []string{"a"}})
	if env := r.Render(Piece{}).Env; !maps.Equal(env, map[string]string{"A": "b"}) {
		t.Errorf("%q", env)
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, text := range []string{"{{", "{{.Index", "{{Index}}", "{{.Nothing}}", "{{}}", "{{.}}", "\x00", "{{.Index}}{{.os }}", "{{.Index+}}", "{{.Index+-1}}", "{{.Index+1.5}}", "{{.Index-1}}", "{{.Index+99999999999999999999}}"} {
		if err := (Payload{Command: []string{"run", text}}).Check(); err == nil {
			t.Errorf("%q passed", text)
		}
	}
}

// Whatever text there is, beside a placeholder too, jobs get it as it was.
func TestLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := rapid.StringMatching(`[{}.$aI]{0,12}`).Draw(t, "before"), rapid.StringMatching(`[{}.$aI]{0,12}`).Draw(t, "after")
		p := Payload{Command: []string{"run", Literal(before), Literal(before) + "{{.Index}}" + Literal(after)}}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		if command := NewRecipe(p).Render(Piece{Index: 7}).Command; command[1] != before || command[2] != before+"7"+after {
			t.Fatalf("%q", command)
		}
	})
}

// The name of a variable is one of a line: behind a line break another variable would begin.
func TestNamesOfVariables(t *testing.T) {
	for name, fine := range map[string]bool{"A": true, "a.b-c d": true, "": false, "A=B": false, "A\nB": false, "A\rB": false, "A\x00": false, "A\x1b[2J": false} {
		err := Payload{Command: []string{"run"}, Env: map[string]string{name: "v"}}.Check()
		if (err == nil) != fine || err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
