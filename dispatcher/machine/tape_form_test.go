package machine

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// A tape has the decisions of the old dispatcher, with all that they follow from, so that the machine can be fed with the same and held
// against them.
//
// A tape is a sequence of entries in the order in which the dispatcher counted them. It is a file of JSON lines, compressed with
// gzip. A reader that applies every entry before a Pull knows what the dispatcher knew when it decided that pull.
//
// # Invariants
//
//  1. Exactly one field of an Entry is set.
//  2. Shapes, shares and queues are known before an entry names them.
//  3. A Grant names a job that is ready at that moment; the entries after it count the job as held.
//  4. A job leaves its place by a Grant or by Withdrawn, and is ready by Ready, by Ended with Again, or by TakeBack. A job that
//     changes its place, share or shape is Withdrawn and then Ready.
//  5. Ids are exact: a Span has no id of a job that the entry is not about.
//  6. An Adopt without a site adopts the former site again: what a dispatcher forgets at an adoption (who was granted something
//     last, to whom it owes units) is forgotten then too.
//  7. The grants of an Undone pull are the first ones that it would get; a dispatcher that knew all would go on. They are followed by
//     their TakeBacks, the last grant first.

// tapeEntry is one line of a tape. Exactly one field is set.
type tapeEntry struct {
	Begin      *tapeBegin      `json:"begin,omitempty"`
	Adopt      *tapeAdopt      `json:"adopt,omitempty"`
	Shape      *tapeShape      `json:"shape,omitempty"`
	Ready      *tapeReady      `json:"ready,omitempty"`
	Withdrawn  *tapeReady      `json:"withdrawn,omitempty"`
	Ended      *tapeEnded      `json:"ended,omitempty"`
	Moved      *tapeMoved      `json:"moved,omitempty"`
	Backlog    *tapeBacklog    `json:"backlog,omitempty"`
	Awaited    *tapeKey        `json:"awaited,omitempty"`
	Remembered *tapeRemembered `json:"remembered,omitempty"`
	Seen       *tapeSeen       `json:"seen,omitempty"`
	Elder      *tapeElder      `json:"elder,omitempty"`
	Pull       *tapePull       `json:"pull,omitempty"`
	TakeBack   *tapeTakeBack   `json:"takeback,omitempty"`
}

// tapeBegin is the first entry: settings of the dispatcher.
type tapeBegin struct {
	LocalWaitMS int64 `json:"local_wait_ms"` // how long jobs that prefer to be near their inputs come last elsewhere
	AtUS        int64 `json:"at_us"`         // microseconds since 1970: up to when memory has been counted
}

// tapeAdopt says that a version of the site is in force from now on.
type tapeAdopt struct {
	Number int64           `json:"number"`
	AtUS   int64           `json:"at_us"`          // microseconds since 1970: the moment of the plans in force
	Site   *shares.Version `json:"site,omitempty"` // with the figures of that moment, without Attempts; nil: the same as before

	Targets []tapeTarget `json:"targets,omitempty"` // target slots and floors in force
}

// tapeTarget bounds the cores that may be held at a queue, or is a floor under them.
type tapeTarget struct {
	Queue string         `json:"queue"`           // its name
	Share shares.ShareID `json:"share,omitempty"` // with all below it; 0: all shares
	Class string         `json:"class,omitempty"` // see job.Classes; empty: all
	Slots int            `json:"slots"`
	Floor bool           `json:"floor,omitempty"`
}

// tapeShape says what the jobs of a shape require.
type tapeShape struct {
	ID    int32            `json:"id"`
	Plain int32            `json:"plain,omitempty"` // the same shape of anybody's jobs, where this one names a user
	Need  job.Requirements `json:"need"`
}

// tapeKey names the jobs of one share and shape.
type tapeKey struct {
	Share shares.ShareID `json:"share"`
	Shape int32          `json:"shape"`
}

// tapeSpan is a range of ids, both ends included.
type tapeSpan [2]int64

// tapeReady says which jobs of a task are ready at a place from now on; as Withdrawn, which are not any more.
type tapeReady struct {
	Task    int64      `json:"task"`
	User    string     `json:"user,omitempty"` // whose task it is
	tapeKey            // of the jobs
	Place   int64      `json:"place"` // lower comes first; jobs of equal place by id
	Jobs    []tapeSpan `json:"jobs"`
	Made    bool       `json:"made,omitempty"` // nobody counted them before under this share, shape and place
}

// What becomes of a job whose lease ended.
const (
	tapeOver  = "."
	tapeAgain = "r" // it is ready again
	tapeWaits = "w"
)

// tapeEnded says that a lease ended.
type tapeEnded struct {
	Job   int64  `json:"job"`
	Next  string `json:"next"`
	Place int64  `json:"place,omitempty"` // with Again
}

// tapeMoved says that leases count for another share or shape from now on, and so do their jobs if they are ready again.
type tapeMoved struct {
	From tapeKey    `json:"from"`
	To   tapeKey    `json:"to"`
	Jobs []tapeSpan `json:"jobs"`
}

// tapeBacklog says how many jobs of a share and shape are still to be made.
type tapeBacklog struct {
	tapeKey
	N int64 `json:"n"`
}

// tapeRemembered says that the time up to a moment counts for what shares have missed.
type tapeRemembered struct {
	AtUS   int64                   `json:"at_us"`  // microseconds since 1970
	Rounds map[string]shares.Units `json:"rounds"` // by pool: R of the targets that are compared with what is held
}

// tapeSeen says whether pilots ask at a queue: what jobs want of resources counts only where they could run.
type tapeSeen struct {
	Queue shares.QueueID `json:"queue"`
	Some  bool           `json:"some"`
}

// tapeElder says up to which id jobs are so old that they come last nowhere.
type tapeElder struct {
	UpTo int64 `json:"up_to"`
}

// The verdicts on a pull.
const (
	tapeGiven  = "given"  // as many jobs as it may have, or all that there are for it
	tapeNone   = "none"   // there is no job for it
	tapeMaking = "making" // the share that comes first has only jobs that are still to be made, and the pull waits for them
	tapeUndone = "undone" // more had to be known: the grants are taken back by the entries that follow, and it is decided again
	tapeCut    = "cut"    // more had to be known, but it keeps what it got
)

// tapePull is a decision.
type tapePull struct {
	Number  int64          `json:"n"` // of the pull: it may be decided several times
	Queue   shares.QueueID `json:"queue"`
	Pilot   string         `json:"pilot"`
	Node    string         `json:"node,omitempty"`
	Devices []string       `json:"devices,omitempty"`
	Slot    job.Slot       `json:"slot"`
	Max     int            `json:"max"` // jobs at the most
	Only    *job.Only      `json:"only,omitempty"`
	AtUS    int64          `json:"at_us,omitempty"` // microseconds since 1970, where jobs have asked for resources

	Blocked int         `json:"blocked,omitempty"` // attempts before this one that had to wait for a read, and gave nothing
	Verdict string      `json:"verdict"`
	Lacked  string      `json:"lacked,omitempty"` // the last kind of limit that kept somebody back
	Grants  []tapeGrant `json:"grants,omitempty"`
	Passed  []tapePass  `json:"passed,omitempty"`
}

// tapeGrant is a job that a pull got.
type tapeGrant struct {
	Job     int64 `json:"job"`
	Attempt int32 `json:"attempt"`
	tapeKey
	Units shares.Units `json:"units"`
	Floor bool         `json:"floor,omitempty"` // the share came first by a floor

	// The contest, to understand a difference: how far the winner and the next one were below their targets, in units.
	Deficit    float32        `json:"d"`
	Next       shares.ShareID `json:"next,omitempty"` // 0: nobody else had a job for the slot
	NextLacked float32        `json:"nd,omitempty"`
}

// tapePass says that a share whose jobs of a shape are still to be made came first and was not waited for, nor will be until
// Awaited says so.
type tapePass struct {
	tapeKey
	After int `json:"after"` // grants of the pull
}

// tapeTakeBack undoes a grant: the job is ready again where it was, and who was granted something last is as it was before.
type tapeTakeBack struct {
	Job  int64 `json:"job"`
	Gone bool  `json:"gone,omitempty"` // somebody else had the job: it is not given until it is Ready anew
}

// readTape reads a whole tape. The trees of its sites can be looked up by path and by id.
func readTape(from io.Reader) (entries []tapeEntry, err error) {
	zip, err := gzip.NewReader(bufio.NewReader(from))
	if err != nil {
		return nil, fmt.Errorf("tape: %w", err)
	}
	in := json.NewDecoder(zip)
	in.DisallowUnknownFields()
	for {
		var e tapeEntry
		if err := in.Decode(&e); errors.Is(err, io.EOF) {
			return entries, nil
		} else if err != nil {
			return nil, fmt.Errorf("tape: entry %d: %w", len(entries)+1, err)
		}
		if e.Adopt != nil && e.Adopt.Site != nil {
			indexed(e.Adopt.Site.Tree)
		}
		entries = append(entries, e)
	}
}

// indexed gives a tree that was read the look-up by id that one has which was built.
func indexed(t *shares.Tree) {
	ids := make(map[string]shares.ShareID, len(t.Nodes))
	for _, n := range t.Nodes {
		ids[n.Path] = n.ID
	}
	t.SetIDs(func(path string) shares.ShareID { return ids[path] })
}
