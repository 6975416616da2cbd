package job

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What comes from inputs and axes gets into a command as it is: it is never read as a template, makes no argument more and
// none less, and no variable beside those that the task has.
func TestNothingIsInjected(t *testing.T) {
	evil := rapid.OneOf(
		rapid.SampledFrom([]string{"{{.Index}}", "{{{{", "}}", "{{", "a b", "a\nb", "'; rm -rf /; '", "$(id)", "`id`", "--flag", "", "../../etc/passwd", "{{.Inputs}}", "X=1", "\x7f", "\"", "{{.Env}}"}),
		rapid.StringMatching("[{}.a-zA-Z '\"$;\n/-]{0,20}"))
	rapid.Check(t, func(t *rapid.T) {
		inputs, axis := rapid.SliceOfN(evil, 0, 4).Draw(t, "inputs"), rapid.SliceOfN(evil, 1, 3).Draw(t, "axis")
		literal := evil.Draw(t, "literal")
		p := Payload{Command: []string{"run", "--in={{.Input}}", "{{.Inputs}}", "{{.seed}}", "<{{.seed}}|{{.Input}}|{{.Index}}>", Literal(literal)},
			Env: map[string]string{"SEED": "{{.seed}}", "IN": "x{{.Input}}y"}, Matrix: []Axis{{Name: "seed", Values: axis}}}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		index := rapid.Int64Range(0, int64(len(axis))-1).Draw(t, "index")
		got := NewRecipe(p).Render(Piece{Index: index, Inputs: inputs})
		command, env := got.Command, got.Env
		in, seed := strings.Join(inputs, " "), axis[index]
		want := slices.Concat([]string{"run", "--in=" + in}, inputs, []string{seed, "<" + seed + "|" + in + "|" + string(rune('0'+index)) + ">", literal})
		if !slices.Equal(command, want) {
			t.Fatalf("command\n got %q\nwant %q", command, want)
		}
		n := 2
		if len(inputs) > 0 {
			n++
		}
		if len(env) != n || env["SEED"] != seed || env["IN"] != "x"+in+"y" || len(inputs) > 0 && env["DIVVY_INPUTS"] != strings.Join(inputs, "\n") {
			t.Fatalf("env %q", env)
		}
	})
}
