package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/shares"
)

// Checkpoint is all of a machine but its site, as of a batch. It has no secrets: what is replayed is who got which job.
type Checkpoint struct {
	At      time.Time // of the batch
	Machine machine.Checkpoint
	Shapes  []entry.Shaped
	Orders  map[int64]machine.Order // to end attempts, by job

	leases table
	idle   table // jobs without one
	names  names
}

// Columns of the two tables; names are numbers.
const (
	leaseColumns = 12
	idleColumns  = 9
)

// Take copies a machine that stands at a batch with that time. It takes a second for a million leases; Pack needs no machine.
func Take(m *machine.Machine, at time.Time) *Checkpoint {
	c := &Checkpoint{At: at.UTC(), Machine: m.Checkpoint(), Orders: map[int64]machine.Order{}, leases: newTable(leaseColumns), idle: newTable(idleColumns)}
	for s := range m.Shapes() {
		c.Shapes = append(c.Shapes, s)
	}
	for r, waits := range m.Ranges() {
		c.idle.add(r.Low, r.High-r.Low, r.Task, r.Place, int64(r.Share), int64(r.Shape), int64(r.Attempt), c.names.number(r.User), number(waits))
	}
	for l := range m.Leases() {
		c.leases.add(l.Job, int64(l.Attempt), l.Task, int64(l.Share), int64(l.Shape), l.Place, int64(l.Queue), int64(l.Units), number(l.Started),
			c.names.number(l.Pilot), c.names.number(l.Node), c.names.number(l.User))
		if l.Order != nil {
			c.Orders[l.Job] = *l.Order
		}
	}
	return c
}

// Restore makes a machine of it, and of the version of the site that was in force.
func (c *Checkpoint) Restore(cfg machine.Config, site shares.Version) (*machine.Machine, error) {
	r, err := machine.Restore(cfg, c.Machine, site, c.Shapes)
	if err != nil {
		return nil, err
	}
	for i := range c.idle.rows() {
		v, take := c.idle.row(i), r.Ready
		if v[8] == 1 {
			take = r.Waiting
		}
		err := take(entry.Enqueued{Low: v[0], High: v[0] + v[1], Task: v[2], Place: v[3], Share: shares.ShareID(v[4]), Shape: int32(v[5]), Attempt: int32(v[6]),
			User: c.names.text(v[7])})
		if err != nil {
			return nil, fmt.Errorf("checkpoint at batch %d: %w", c.Machine.Seq, err)
		}
	}
	for i := range c.leases.rows() {
		v := c.leases.row(i)
		l := machine.Lease{User: c.names.text(v[11]), Started: v[8] == 1, Granted: c.granted(v)}
		if order, ok := c.Orders[v[0]]; ok {
			l.Order = &order
		}
		if err := r.Lease(l, c.Machine.Now); err != nil {
			return nil, fmt.Errorf("checkpoint at batch %d: %w", c.Machine.Seq, err)
		}
	}
	return r.Done()
}

func number(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// names keeps each text once. The zero value is empty.
type names struct {
	list []string
	by   map[string]int64
}

func (n *names) number(text string) int64 {
	i, ok := n.by[text]
	if !ok {
		if n.by == nil {
			n.by = map[string]int64{}
		}
		i = int64(len(n.list))
		n.by[text], n.list = i, append(n.list, text)
	}
	return i
}

func (n *names) text(i int64) string {
	if i < 0 || i >= int64(len(n.list)) {
		return ""
	}
	return n.list[i]
}

// format is the first byte of a packed checkpoint: another version of the program that packs otherwise has another one.
const format = 1

// head is what is packed as JSON.
type head struct {
	At      time.Time               `json:"at"`
	Machine machine.Checkpoint      `json:"machine"`
	Shapes  []entry.Shaped          `json:"shapes"`
	Orders  map[int64]machine.Order `json:"orders,omitempty"`
	Names   []string                `json:"names"`
}

// Pack writes the checkpoint in few bytes.
func (c *Checkpoint) Pack() ([]byte, error) {
	text, err := json.Marshal(head{c.At, c.Machine, c.Shapes, c.Orders, c.names.list})
	if err != nil {
		return nil, fmt.Errorf("pack a checkpoint: %w", err)
	}
	var out bytes.Buffer
	out.WriteByte(format)
	z, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("pack a checkpoint: %w", err)
	}
	w := bufio.NewWriterSize(z, 1<<16)
	_, _ = w.Write(binary.AppendUvarint(nil, uint64(len(text)))) // what fails is told by Flush
	_, _ = w.Write(text)
	c.idle.write(w)
	c.leases.write(w)
	if err := errors.Join(w.Flush(), z.Close()); err != nil {
		return nil, fmt.Errorf("pack a checkpoint: %w", err)
	}
	return out.Bytes(), nil
}

// ErrUnreadable is a checkpoint that cannot be unpacked: another version of divvy wrote it, or it is broken.
var ErrUnreadable = errors.New("unpack a checkpoint")

// Unpack reads what Pack wrote.
func Unpack(packed []byte) (*Checkpoint, error) {
	if len(packed) == 0 || packed[0] != format {
		return nil, fmt.Errorf("%w: it is not of format %d: another version of divvy wrote it", ErrUnreadable, format)
	}
	r := bufio.NewReaderSize(flate.NewReader(bytes.NewReader(packed[1:])), 1<<16)
	c := &Checkpoint{leases: newTable(leaseColumns), idle: newTable(idleColumns)}
	var h head
	size, err := binary.ReadUvarint(r)
	if err == nil {
		err = json.NewDecoder(io.LimitReader(r, int64(size))).Decode(&h)
	}
	if err == nil {
		err = c.idle.read(r)
	}
	if err == nil {
		err = c.leases.read(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	c.At, c.Machine, c.Shapes, c.Orders, c.names.list = h.At, h.Machine, h.Shapes, h.Orders, h.Names
	return c, nil
}

// table is rows of numbers, by column.
type table struct{ columns [][]int64 }

func newTable(columns int) table { return table{make([][]int64, columns)} }

func (t *table) add(values ...int64) {
	for i, v := range values {
		t.columns[i] = append(t.columns[i], v)
	}
}

func (t *table) rows() int { return len(t.columns[0]) }

func (t *table) row(i int) (v [leaseColumns]int64) {
	for k, column := range t.columns {
		v[k] = column[i]
	}
	return v
}

// write writes the rows in the order of the first column, of each column what a value is more than the one before it.
func (t *table) write(w *bufio.Writer) {
	order := make([]int32, t.rows())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(t.columns[0][a], t.columns[0][b]) })
	var b [binary.MaxVarintLen64]byte
	_, _ = w.Write(b[:binary.PutUvarint(b[:], uint64(len(order)))])
	for _, column := range t.columns {
		var before int64
		for _, i := range order {
			_, _ = w.Write(b[:binary.PutVarint(b[:], column[i]-before)])
			before = column[i]
		}
	}
}

// mostRows refuses a number of rows that no site has.
const mostRows = 1 << 28

func (t *table) read(r *bufio.Reader) error {
	n, err := binary.ReadUvarint(r)
	if err == nil && n > mostRows {
		err = fmt.Errorf("%d rows", n)
	}
	for i := range t.columns {
		var value int64
		for k := uint64(0); err == nil && k < n; k++ {
			var more int64
			more, err = binary.ReadVarint(r)
			value += more
			t.columns[i] = append(t.columns[i], value)
		}
	}
	return err
}
