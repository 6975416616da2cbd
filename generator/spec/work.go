package spec

import "slices"

// Work is how the task falls into pieces.
type Work struct {
	Split   string // count, inputs, events, matrix: as tasks.split; or groups
	PerJob  int64  // inputs or events of a piece
	Events  int64
	NInputs int64
	Pieces  int64
	InLots  bool // its pieces are cut from lots, and counted when these are opened
}

// Work of a checked spec; a streamed one has no pieces until its commit.
func (s *Spec) Work() Work {
	switch {
	case s.Events != nil && s.Split != nil:
		return Work{Split: "events", PerJob: 1, Events: s.Events.Total, InLots: true}
	case s.Split != nil || slices.ContainsFunc(s.Inputs, Input.Located):
		return Work{Split: "inputs", PerJob: max(s.PerJob, 1), NInputs: int64(len(s.Inputs)), InLots: true}
	case s.Count > 0:
		return Work{Split: "count", PerJob: 1, Pieces: s.Count}
	case s.Events != nil:
		return Work{Split: "events", PerJob: s.Events.PerJob, Events: s.Events.Total, Pieces: Ceil(s.Events.Total, s.Events.PerJob)}
	case len(s.Matrix) > 0:
		pieces := int64(1)
		for _, a := range s.Matrix {
			pieces *= int64(len(a.Values))
		}
		return Work{Split: "matrix", PerJob: 1, Pieces: pieces}
	case s.Grouped():
		jobs, _ := s.Layout().Size()
		return Work{Split: "groups", PerJob: 1, Pieces: jobs}
	default:
		n := int64(len(s.Inputs))
		return Work{Split: "inputs", PerJob: s.PerJob, NInputs: n, Pieces: Ceil(n, s.PerJob)}
	}
}

// Ceil is a/b, rounded up.
func Ceil(a, b int64) int64 { return a/b + min(a%b, 1) }
