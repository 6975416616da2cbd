package throttle

import (
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// Why is what a task says that Step has not seen yet.
const Why = "a limit of the site concerns it: within seconds it is let in, or says what it waits for"

// Entry is the state that a task comes to when it would be in that one: where a limit concerns it, Step lets it in.
func Entry(st *site.Site, user, label string, share shares.ShareID, state string) string {
	switch state {
	case "ready", "scouting", "running":
		path := ""
		if i, ok := st.Tree.ByID(share); ok {
			path = st.Tree.Nodes[i].Path
		}
		if len(st.Limits) > 0 && len(st.LimitsOf(user, label, path)) > 0 {
			return "throttled"
		}
	}
	return state
}
