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
)

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

// Unpack reads what Pack wrote.
func Unpack(packed []byte) (*Checkpoint, error) {
	if len(packed) == 0 || packed[0] != format {
		return nil, fmt.Errorf("unpack a checkpoint: it is not of format %d: another version of divvy wrote it", format)
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
		return nil, fmt.Errorf("unpack a checkpoint: %w", err)
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

// row returns a row in the order of its columns.
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
