package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/divvyhq/divvy/api/wire"
)

// A chunk of inputs is one request: what is in memory, and what a broken connection costs.
const (
	chunkLines = 10_000
	chunkBytes = 4 << 20
)

// SendInputs stores the inputs of a submitting task: NDJSON, one JSON string a line, that go on after the first
// offset ones. It returns how many are stored; after an error, go on from there. progress, which may be nil,
// hears of each chunk.
func (t Tasks) SendInputs(ctx context.Context, task, offset int64, ndjson io.Reader, progress func(stored int64)) (int64, error) {
	lines := bufio.NewReaderSize(ndjson, 64<<10)
	for {
		chunk, n, err := readChunk(lines)
		if n > 0 {
			next, sendErr := t.sendChunk(ctx, task, offset, chunk, n)
			if sendErr != nil {
				return max(next, offset), sendErr
			}
			offset = next
			if progress != nil {
				progress(offset)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return offset, nil
		case err != nil:
			return offset, fmt.Errorf("inputs: %w", err)
		}
	}
}

// SendNames is SendFile for a file of names, one a line; empty lines are passed over.
func (t Tasks) SendNames(ctx context.Context, task int64, names io.Reader, progress func(stored int64)) (int64, error) {
	return t.SendFile(ctx, task, func(dst io.Writer, skip int64) error { return encodeNames(dst, names, skip) }, progress)
}

// encodeNames writes names as NDJSON, without the first of them.
func encodeNames(dst io.Writer, names io.Reader, skip int64) error {
	scan, out := bufio.NewScanner(names), json.NewEncoder(dst)
	out.SetEscapeHTML(false)
	for scan.Scan() {
		name := bytes.TrimRight(scan.Bytes(), "\r")
		if len(name) == 0 {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if err := out.Encode(string(name)); err != nil {
			return err
		}
	}
	return scan.Err()
}

// SendFile is SendInputs for what an encoder writes: NDJSON without the first skip inputs. It asks the daemon how far an earlier
// call came and goes on from there.
func (t Tasks) SendFile(ctx context.Context, task int64, encode func(dst io.Writer, skip int64) error, progress func(stored int64)) (int64, error) {
	stored, err := t.StoredInputs(ctx, task)
	if err != nil {
		return 0, err
	}
	ndjson, feed := io.Pipe()
	go func() {
		buffered := bufio.NewWriterSize(feed, 64<<10)
		err := encode(buffered, stored)
		if err == nil {
			err = buffered.Flush()
		}
		feed.CloseWithError(err) // nil is io.EOF
	}()
	defer ndjson.Close() // ends the encoder when sending fails
	return t.SendInputs(ctx, task, stored, ndjson, progress)
}

// StoredInputs is how many inputs a submitting task has.
func (t Tasks) StoredInputs(ctx context.Context, task int64) (int64, error) {
	next, err := t.put(ctx, task, 0, nil)
	if IsCode(err, codeOffset) {
		return next, nil
	}
	return next, err
}

const codeOffset = "wrong_offset"

// sendChunk stores n lines at offset. When a request was carried out but its answer was lost, the repeat is refused
// with an offset inside or behind the chunk: then the rest of the chunk is sent from there.
func (t Tasks) sendChunk(ctx context.Context, task, offset int64, chunk []byte, n int) (next int64, err error) {
	end := offset + int64(n)
	for {
		next, err = t.put(ctx, task, offset, chunk)
		if !IsCode(err, codeOffset) || next <= offset || next > end {
			return next, err
		}
		if next == end {
			return next, nil
		}
		chunk, offset = skipLines(chunk, next-offset), next
	}
}

// put makes one request. With wrong_offset, next is the right one.
func (t Tasks) put(ctx context.Context, task, offset int64, chunk []byte) (next int64, err error) {
	stored, err := send[wire.Stored](ctx, t.c, call{
		method: http.MethodPut, path: taskPath(task, "/inputs"), query: url.Values{"offset": {strconv.FormatInt(offset, 10)}},
		body: chunk, kind: "application/x-ndjson", repeat: true,
	})
	var p *wire.Problem
	if errors.As(err, &p) && p.Next != nil {
		return *p.Next, err
	}
	return stored.Next, err
}

// readChunk reads whole lines up to a chunk's size; empty ones are left out.
func readChunk(lines *bufio.Reader) (chunk []byte, n int, err error) {
	for n < chunkLines && len(chunk) < chunkBytes {
		line, err := lines.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			chunk = append(append(chunk, text...), '\n')
			n++
		}
		if err != nil {
			return chunk, n, err
		}
	}
	return chunk, n, nil
}

func skipLines(chunk []byte, n int64) []byte {
	for ; n > 0; n-- {
		chunk = chunk[bytes.IndexByte(chunk, '\n')+1:]
	}
	return chunk
}
