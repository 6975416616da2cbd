package machine

import "github.com/divvyhq/divvy/dispatcher/gate"

// gangs are the jobs that start together and have not started.
type gangs struct {
	open  map[*buffer]struct{} // that have some
	nodes *gate.Nodes
}
