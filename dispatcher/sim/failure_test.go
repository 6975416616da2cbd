package sim

import (
	"fmt"
	"strings"
)

// failure shrinks a failure and says how to play it again.
func failure(p Plan, w Wiring, r Result) string {
	shrunk, keep := Shrink(p, 300, func(p Plan) bool { return len(play(p, w).Wrong) > 0 })
	var told strings.Builder
	r2 := Run(shrunk, w, &told)
	text := told.String()
	if lines := strings.Split(text, "\n"); len(lines) > 120 {
		text = strings.Join(lines[len(lines)-120:], "\n")
	}
	return fmt.Sprintf("seed %d: %s\nshrunk to %d steps:\n%v\n%s\n%s\nagain: go test ./dispatcher/sim -run TestSeed -v -seed %d -keep '%s'",
		p.Seed, strings.Join(r.Wrong, "\n"), r2.Steps, shrunk, text, strings.Join(r2.Wrong, "\n"), p.Seed, keep)
}
