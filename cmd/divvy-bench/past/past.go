package past

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/shares"
)

// Task is a task of the days.
type Task struct {
	ID    int64
	User  string
	Share shares.ShareID
}

// Queue is where its jobs run.
type Queue struct {
	ID             shares.QueueID
	Name           string
	CorePowerMilli int64
}

// Shape is what jobs need: so many cores.
type Shape struct {
	ID    int32
	Cores int
}

// Config is the site.
type Config struct {
	Begin  time.Time // of the first day
	Tasks  []Task    // as many new ones each day: PerDay
	PerDay int
	Queues []Queue
	Shapes []Shape // a task has jobs of one of them
	First  int64   // id of the first job; those of a day follow those of the day before
	Seed   uint64
}

// Block is the jobs of a task of one day.
type Block struct {
	Task      int64
	Low, High int64
	Share     shares.ShareID
	Shape     int32
}

// Log is the log of the days that were added.
type Log struct {
	cfg    Config
	random *rand.Rand
	days   int
	next   int64 // id of the next job
	last   entry.Batch
	made   []entry.Batch // of the last Read, which may be read again
	minute int           // of the next batch, from Begin
	until  int           // where the added days end
	day    drawn
	starts []entry.Entry         // of the next minute
	ends   map[int][]entry.Entry // by minute
}

// drawn is what happens on a day.
type drawn struct {
	begin    int // minute
	enqueued []entry.Entry
	tasks    []int // of the attempts, in the order of their grants: indexes of Config.Tasks
	at       map[int]*jobsOf
	granted  int
}

// jobsOf is jobs that a task has left.
type jobsOf struct {
	next  int64
	shape Shape
}

var _ ledger.Log = (*Log)(nil)

// New is a log without days.
func New(cfg Config) *Log {
	return &Log{cfg: cfg, random: rand.New(rand.NewPCG(cfg.Seed, 1)), next: cfg.First, ends: map[int][]entry.Entry{}}
}

// minutes of a day.
const minutes = 24 * 60

// Add adds a day on which so many attempts are granted, and returns its jobs. All of the days before has been read by then.
func (l *Log) Add(attempts int) []Block {
	first := l.days * l.cfg.PerDay
	d := drawn{begin: l.days * minutes, tasks: make([]int, attempts), at: map[int]*jobsOf{}}
	counts := make([]int64, l.cfg.PerDay)
	for i := range d.tasks {
		b := l.random.Float64() // few tasks have many jobs
		k := int(float64(l.cfg.PerDay) * b * b)
		d.tasks[i] = first + k
		counts[k]++
	}
	var blocks []Block
	for k, n := range counts {
		if n == 0 {
			continue
		}
		task := l.cfg.Tasks[first+k]
		shape := l.cfg.Shapes[(first+k)%len(l.cfg.Shapes)]
		b := Block{Task: task.ID, Low: l.next, High: l.next + n - 1, Share: task.Share, Shape: shape.ID}
		l.next += n
		d.at[first+k] = &jobsOf{b.Low, shape}
		d.enqueued = append(d.enqueued, entry.Enqueued{Task: b.Task, Share: b.Share, Shape: b.Shape, Low: b.Low, High: b.High, Attempt: 1, User: task.User})
		blocks = append(blocks, b)
	}
	l.day, l.days = d, l.days+1
	l.until = l.days * minutes
	return blocks
}

// errReadOnly refuses an append to the past.
var errReadOnly = errors.New("the past is over")

// Append is ledger.Log's.
func (*Log) Append(context.Context, entry.Batch) (time.Time, error) { return time.Time{}, errReadOnly }

// AppendWith is ledger.Log's.
func (*Log) AppendWith(context.Context, entry.Batch, ledger.Beside) (time.Time, error) {
	return time.Time{}, errReadOnly
}

// Last is ledger.Log's: the last batch that was read.
func (l *Log) Last(context.Context) (int64, entry.ID, error) { return l.last.Seq, l.last.ID, nil }

// Read is ledger.Log's. It goes on from where the last one ended, or began.
func (l *Log) Read(_ context.Context, seq int64, most int) ([]entry.Batch, error) {
	if len(l.made) > 0 && l.made[0].Seq == seq+1 && len(l.made) <= most {
		return l.made, nil
	}
	if seq != l.last.Seq {
		return nil, fmt.Errorf("batches after %d are read, after %d", seq, l.last.Seq)
	}
	l.made = nil
	for len(l.made) < most && l.minute < l.until {
		l.made = append(l.made, l.batch())
	}
	return l.made, nil
}

// batch is that of the next minute.
func (l *Log) batch() entry.Batch {
	b := entry.Batch{Seq: l.last.Seq + 1, After: l.last.ID, By: 1, At: l.cfg.Begin.Add(time.Duration(l.minute) * time.Minute)}
	binary.BigEndian.PutUint64(b.ID[:], uint64(b.Seq))
	if l.minute == 0 {
		for _, s := range l.cfg.Shapes {
			b.Entries = append(b.Entries, entry.Shaped{Shape: s.ID, Need: job.Requirements{Cores: s.Cores}})
		}
	}
	if l.minute == l.day.begin {
		b.Entries = append(b.Entries, l.day.enqueued...)
	}
	b.Entries = append(append(b.Entries, l.starts...), l.ends[l.minute]...)
	l.starts = nil
	delete(l.ends, l.minute)
	for upTo := len(l.day.tasks) * (l.minute - l.day.begin + 1) / minutes; l.day.granted < upTo; l.day.granted++ {
		b.Entries = append(b.Entries, l.grant(l.day.tasks[l.day.granted]))
	}
	l.minute++
	l.last = b
	return b
}

// grant gives the next job of a task a lease, and notes how that goes on.
func (l *Log) grant(task int) entry.Granted {
	of, t := l.day.at[task], l.cfg.Tasks[task]
	q := l.cfg.Queues[(task*13+l.random.IntN(5)*17)%len(l.cfg.Queues)]
	g := entry.Granted{Job: of.next, Attempt: 1, Nonce: l.random.Int64(), Task: t.ID, Share: t.Share, Shape: of.shape.ID, Queue: q.ID,
		Units: shares.Units(int64(of.shape.Cores) * q.CorePowerMilli), Pilot: "pilot", Node: fmt.Sprintf("%s-n%d", q.Name, l.random.IntN(100))}
	of.next++
	const mean, most = 120.0, 2 * minutes
	took := min(1+int(l.random.ExpFloat64()*mean), most)
	if took > 1 {
		l.starts = append(l.starts, entry.Started{Job: g.Job, Attempt: 1})
	}
	e := entry.Ended{Job: g.Job, Attempt: 1, Outcome: entry.Finished, Next: entry.Over, CPUMilli: int64(took*of.shape.Cores) * 48_000, MemoryMB: 2000}
	switch k := l.random.IntN(100); {
	case k < 5:
		e.Outcome, e.ExitCode = entry.Failed, 1+int32(l.random.IntN(30))
	case k == 5:
		e.Outcome = entry.Lost
	}
	l.ends[l.minute+took] = append(l.ends[l.minute+took], e)
	return g
}
