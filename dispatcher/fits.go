package dispatcher

import "github.com/divvyhq/divvy/shares"

// RunsAt says whether jobs with these requirements may run at the queue at all, by the site file alone. Requirements that are 0
// are none, so that one may ask where jobs of unknown length could run.
func RunsAt(r Requirements, q shares.Queue) bool { return fitsQueue(r, q, q.Labels) == "" }
