package ledger

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Columns are the entries of a batch as the table has them. Sites of Adopted entries are not in them.
type Columns struct {
	Kinds string
	grants
	ends
	starts
	Rare []string
}

// grants are entry.Granted, a column a field. A column with one value for several entries has it for all of them, here and below;
// jobs are different, so theirs tells how many there are.
type grants struct {
	GrantedJobs     []int64
	GrantedAttempts []int32
	GrantedNonces   []int64
	GrantedTasks    []int64
	GrantedShares   []int32
	GrantedShapes   []int32
	GrantedPlaces   []int64
	GrantedQueues   []int32
	GrantedUnits    []int64
	GrantedPilots   []string
	GrantedNodes    []string
	GrantedRequests []pgtype.UUID
}

// ends are entry.Ended.
type ends struct {
	EndedJobs      []int64
	EndedAttempts  []int32
	EndedOutcomes  *string
	EndedNext      *string
	EndedExitCodes []int32
	EndedCPUMilli  []int64
	EndedMemoryMB  []int64
}

// starts are entry.Started.
type starts struct {
	StartedJobs     []int64
	StartedAttempts []int32
	StartedTTLs     []int32 `db:"started_ttls"`
}

func (s *starts) at(i int) entry.Started {
	return entry.Started{Job: s.StartedJobs[i], Attempt: nth(s.StartedAttempts, i), TTLS: nth(s.StartedTTLs, i)}
}

func (g *grants) add(e entry.Granted) {
	g.GrantedJobs = append(g.GrantedJobs, e.Job)
	g.GrantedAttempts = append(g.GrantedAttempts, e.Attempt)
	g.GrantedNonces = append(g.GrantedNonces, e.Nonce)
	g.GrantedTasks = append(g.GrantedTasks, e.Task)
	g.GrantedShares = append(g.GrantedShares, int32(e.Share))
	g.GrantedShapes = append(g.GrantedShapes, e.Shape)
	g.GrantedPlaces = append(g.GrantedPlaces, e.Place)
	g.GrantedQueues = append(g.GrantedQueues, int32(e.Queue))
	g.GrantedUnits = append(g.GrantedUnits, int64(e.Units))
	g.GrantedPilots = append(g.GrantedPilots, e.Pilot)
	g.GrantedNodes = append(g.GrantedNodes, e.Node)
	g.GrantedRequests = append(g.GrantedRequests, uuid(e.Request))
}

func (g *grants) at(i int) entry.Granted {
	return entry.Granted{
		Job: g.GrantedJobs[i], Attempt: nth(g.GrantedAttempts, i), Nonce: nth(g.GrantedNonces, i), Task: nth(g.GrantedTasks, i),
		Share: shares.ShareID(nth(g.GrantedShares, i)), Shape: nth(g.GrantedShapes, i), Place: nth(g.GrantedPlaces, i),
		Queue: shares.QueueID(nth(g.GrantedQueues, i)), Units: shares.Units(nth(g.GrantedUnits, i)),
		Pilot: nth(g.GrantedPilots, i), Node: nth(g.GrantedNodes, i), Request: nth(g.GrantedRequests, i).Bytes,
	}
}

func (x *ends) at(i int) entry.Ended {
	return entry.Ended{
		Job: x.EndedJobs[i], Attempt: nth(x.EndedAttempts, i),
		Outcome: entry.Outcome(letter(*x.EndedOutcomes, i)), Next: entry.Next(letter(*x.EndedNext, i)),
		ExitCode: nth(x.EndedExitCodes, i), CPUMilli: nth(x.EndedCPUMilli, i), MemoryMB: nth(x.EndedMemoryMB, i),
	}
}

// Pack makes columns of entries that the log takes, see Check.
func Pack(entries []entry.Entry) (*Columns, error) {
	c := &Columns{}
	var outcomes, next []byte
	kinds := make([]byte, len(entries))
	for i, e := range entries {
		kinds[i] = byte(entry.KindOf(e))
		switch e := e.(type) {
		case entry.Granted:
			c.grants.add(e)
		case entry.Ended:
			c.EndedJobs = append(c.EndedJobs, e.Job)
			c.EndedAttempts = append(c.EndedAttempts, e.Attempt)
			outcomes, next = append(outcomes, byte(e.Outcome)), append(next, byte(e.Next))
			c.EndedExitCodes = append(c.EndedExitCodes, e.ExitCode)
			c.EndedCPUMilli = append(c.EndedCPUMilli, e.CPUMilli)
			c.EndedMemoryMB = append(c.EndedMemoryMB, e.MemoryMB)
		case entry.Started:
			c.StartedJobs = append(c.StartedJobs, e.Job)
			c.StartedAttempts = append(c.StartedAttempts, e.Attempt)
			c.StartedTTLs = append(c.StartedTTLs, e.TTLS)
		default:
			text, err := json.Marshal(e)
			if err != nil {
				return nil, err
			}
			c.Rare = append(c.Rare, string(text))
		}
	}
	c.Kinds, c.EndedOutcomes, c.EndedNext = string(kinds), letters(outcomes), letters(next)
	c.GrantedAttempts = collapse(c.GrantedAttempts)
	c.GrantedNonces = collapse(c.GrantedNonces)
	c.GrantedTasks = collapse(c.GrantedTasks)
	c.GrantedShares = collapse(c.GrantedShares)
	c.GrantedShapes = collapse(c.GrantedShapes)
	c.GrantedPlaces = collapse(c.GrantedPlaces)
	c.GrantedQueues = collapse(c.GrantedQueues)
	c.GrantedUnits = collapse(c.GrantedUnits)
	c.GrantedPilots = collapse(c.GrantedPilots)
	c.GrantedNodes = collapse(c.GrantedNodes)
	c.GrantedRequests = collapse(c.GrantedRequests)
	c.EndedAttempts = collapse(c.EndedAttempts)
	c.EndedExitCodes = collapse(c.EndedExitCodes)
	c.EndedCPUMilli = collapse(c.EndedCPUMilli)
	c.EndedMemoryMB = collapse(c.EndedMemoryMB)
	c.StartedAttempts = collapse(c.StartedAttempts)
	c.StartedTTLs = collapse(c.StartedTTLs)
	return c, nil
}

func (c *Columns) args() pg.Args {
	return pg.Args{
		"kinds":        c.Kinds,
		"granted_jobs": c.GrantedJobs, "granted_attempts": c.GrantedAttempts, "granted_nonces": c.GrantedNonces,
		"granted_tasks": c.GrantedTasks, "granted_shares": c.GrantedShares, "granted_shapes": c.GrantedShapes,
		"granted_places": c.GrantedPlaces, "granted_queues": c.GrantedQueues, "granted_units": c.GrantedUnits,
		"granted_pilots": c.GrantedPilots, "granted_nodes": c.GrantedNodes, "granted_requests": c.GrantedRequests,
		"ended_jobs": c.EndedJobs, "ended_attempts": c.EndedAttempts, "ended_outcomes": c.EndedOutcomes, "ended_next": c.EndedNext,
		"ended_exit_codes": c.EndedExitCodes, "ended_cpu_milli": c.EndedCPUMilli, "ended_memory_mb": c.EndedMemoryMB,
		"started_jobs": c.StartedJobs, "started_attempts": c.StartedAttempts, "started_ttls": c.StartedTTLs,
		"rare": c.Rare,
	}
}

// whole says whether each column has values for all of its entries.
func (c *Columns) whole() bool {
	letters := func(s *string) int {
		if s == nil {
			return 0
		}
		return len(*s)
	}
	return fit(len(c.GrantedJobs), len(c.GrantedAttempts), len(c.GrantedNonces), len(c.GrantedTasks), len(c.GrantedShares), len(c.GrantedShapes),
		len(c.GrantedPlaces), len(c.GrantedQueues), len(c.GrantedUnits), len(c.GrantedPilots), len(c.GrantedNodes), len(c.GrantedRequests)) &&
		fit(len(c.EndedJobs), len(c.EndedAttempts), letters(c.EndedOutcomes), letters(c.EndedNext), len(c.EndedExitCodes), len(c.EndedCPUMilli),
			len(c.EndedMemoryMB)) &&
		fit(len(c.StartedJobs), len(c.StartedAttempts), len(c.StartedTTLs))
}

// Unpack makes entries of what the table has, in their order.
func (c *Columns) Unpack() ([]entry.Entry, error) {
	if !c.whole() {
		return nil, fmt.Errorf("columns of different lengths: %w", ErrBroken)
	}
	var granted, ended, started, rare int
	entries := make([]entry.Entry, 0, len(c.Kinds))
	for i := range len(c.Kinds) {
		kind := entry.Kind(c.Kinds[i])
		switch {
		case kind == entry.KindGranted && granted < len(c.GrantedJobs):
			entries = append(entries, c.grants.at(granted))
			granted++
		case kind == entry.KindEnded && ended < len(c.EndedJobs):
			entries = append(entries, c.ends.at(ended))
			ended++
		case kind == entry.KindStarted && started < len(c.StartedJobs):
			entries = append(entries, c.starts.at(started))
			started++
		case rare < len(c.Rare):
			e, err := unpackRare(kind, c.Rare[rare])
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
			rare++
		default:
			return nil, fmt.Errorf("kind %q: its entry is not there: %w", kind, ErrBroken)
		}
	}
	if granted != len(c.GrantedJobs) || ended != len(c.EndedJobs) || started != len(c.StartedJobs) || rare != len(c.Rare) {
		return nil, fmt.Errorf("more entries than kinds: %w", ErrBroken)
	}
	return entries, nil
}

func uuid(id entry.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// collapse returns one value for all where they are equal.
func collapse[T comparable](column []T) []T {
	for _, v := range column {
		if v != column[0] {
			return column
		}
	}
	return column[:min(1, len(column))]
}

// letters is collapse for what is text in the table; NULL for none.
func letters(column []byte) *string {
	if len(column) == 0 {
		return nil
	}
	s := string(collapse(column))
	return &s
}

// fit says whether columns of these lengths have values for n entries.
func fit(n int, lengths ...int) bool {
	return !slices.ContainsFunc(lengths, func(l int) bool { return l != n && (l != 1 || n == 0) })
}

// nth is the value of the i-th entry.
func nth[T any](column []T, i int) T { return column[min(i, len(column)-1)] }

// letter is nth of what is text in the table.
func letter(column string, i int) byte { return column[min(i, len(column)-1)] }
