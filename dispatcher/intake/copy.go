package intake

import (
	"encoding/binary"
	"io"

	"github.com/jackc/pgx/v5/pgtype"
)

// jobRows is the stream of a binary COPY into jobs, with the columns of copy_jobs.sql. Written by hand because
// pgx's CopyFrom, a slice of any for each row and a look-up of the encoding for each value, costs this process
// 1.4 µs a job more, half of all that making jobs does there.
type jobRows struct {
	jobs []NewJob // that are not encoded yet
	ids  []int64  // theirs
	buf  []byte
	left []byte // of buf, what was not read yet
	over bool   // the trailer is in buf
}

const (
	copySignature = "PGCOPY\n\xff\r\n\x00"
	jobColumns    = 7
	copyChunk     = 48 << 10
)

func newJobRows(jobs []NewJob, ids []int64) *jobRows {
	r := &jobRows{jobs: jobs, ids: ids, buf: make([]byte, 0, copyChunk+1<<10)}
	r.buf = append(r.buf, copySignature...)
	r.buf = append(r.buf, 0, 0, 0, 0, 0, 0, 0, 0) // no flags, no more header
	r.left = r.buf
	return r
}

// Read is io.Reader.
func (r *jobRows) Read(p []byte) (n int, err error) {
	if len(r.left) == 0 {
		if r.over {
			return 0, io.EOF
		}
		r.fill()
	}
	n = copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// fill encodes a chunk of jobs, and the trailer after the last.
func (r *jobRows) fill() {
	r.buf = r.buf[:0]
	n := 0
	for n < len(r.jobs) && len(r.buf) < copyChunk {
		r.buf = appendJob(r.buf, &r.jobs[n], r.ids[n])
		n++
	}
	r.jobs, r.ids = r.jobs[n:], r.ids[n:]
	if len(r.jobs) == 0 {
		r.buf = append(r.buf, 0xff, 0xff)
		r.over = true
	}
	r.left = r.buf
}

func appendJob(b []byte, j *NewJob, id int64) []byte {
	b = binary.BigEndian.AppendUint16(b, jobColumns)
	b = appendInt8(b, id)
	b = appendInt8(b, j.Index)
	b = appendInt8OrNull(b, j.FirstEvent, j.Events > 0)
	b = appendInt8OrNull(b, j.Events, j.Events > 0)
	b = appendInt8OrNull(b, j.RetryOf, j.RetryOf != 0)
	b = appendTexts(b, j.Inputs)
	return appendInt8s(b, j.Claims)
}

func appendInt8(b []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(v))
}

func appendNull(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff) }

// appendInt8OrNull writes NULL for a value that is not there.
func appendInt8OrNull(b []byte, v int64, there bool) []byte {
	if !there {
		return appendNull(b)
	}
	return appendInt8(b, v)
}

// appendInt8s writes a bigint[] of one dimension, from 1; NULL where there is none.
func appendInt8s(b []byte, list []int64) []byte {
	if len(list) == 0 {
		return appendNull(b)
	}
	b = appendInt4Raw(b, int32(20+12*len(list)))
	for _, v := range [...]int32{1, 0, pgtype.Int8OID, int32(len(list)), 1} {
		b = appendInt4Raw(b, v)
	}
	for _, v := range list {
		b = appendInt8(b, v)
	}
	return b
}

func appendInt4Raw(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

// appendTexts writes a text[] of one dimension, from 1; NULL for nil.
func appendTexts(b []byte, texts []string) []byte {
	if texts == nil {
		return appendNull(b)
	}
	start := len(b)
	b = append(b, 0, 0, 0, 0) // its length, when it is known
	if len(texts) == 0 {
		b = binary.BigEndian.AppendUint32(b, 0)
	} else {
		b = binary.BigEndian.AppendUint32(b, 1)
	}
	b = binary.BigEndian.AppendUint32(b, 0) // no NULLs in it
	b = binary.BigEndian.AppendUint32(b, pgtype.TextOID)
	if len(texts) > 0 {
		b = binary.BigEndian.AppendUint32(b, uint32(len(texts)))
		b = binary.BigEndian.AppendUint32(b, 1)
	}
	for _, t := range texts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(t)))
		b = append(b, t...)
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}
