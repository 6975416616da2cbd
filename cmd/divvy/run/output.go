package run

import (
	"context"
	"strings"

	"github.com/divvyhq/divvy/api/wire"
)

// follow shows what a job writes until it has ended.
func (o *outputs) follow(ctx context.Context, j wire.JobRow) {
	prefix := ""
	if o.many {
		prefix = "[" + o.number(j.Index) + "] "
	}
	streams := map[string]*lines{}
	for _, name := range []string{"stdout", "stderr"} {
		streams[name] = &lines{prefix: prefix, write: func(s string) { o.out.write(name, s) }}
		defer streams[name].close()
	}
	for out, err := range o.cl.Jobs().Follow(ctx, j.ID, 0) {
		if err != nil {
			if ctx.Err() == nil {
				o.out.say("output of job %d: %v", j.ID, err)
			}
			return
		}
		for _, c := range out.Chunks {
			if c.Missed > 0 {
				o.out.say("output of job %d: %d bytes of its %s are left out", j.ID, c.Missed, c.Stream)
			}
			if l := streams[c.Stream]; l != nil {
				l.add(string(c.Data))
			} else { // what is kept of both, where a job was over before it was followed
				out, errs := parts(string(c.Data))
				streams["stdout"].add(out)
				streams["stderr"].add(errs)
			}
		}
	}
}

// parts are the two streams of the end of a job's output, as pilots report it.
func parts(tail string) (out, errs string) {
	text, both := strings.CutPrefix(tail, "--- stdout\n")
	if !both {
		return ended(tail), ""
	}
	out, errs, _ = strings.Cut(text, "\n--- stderr\n")
	return ended(out), ended(errs)
}

// ended is a text with the end of its last line.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
