package payload

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Written is what a job writes to stdout (0) and stderr (1). It can be read while the job runs, and after its folder was
// removed.
type Written struct{ files [2]*os.File }

// Written opens what the job has written so far; nil when it has not started yet, or nothing can be read.
func (j *Job) Written() *Written {
	j.mu.Lock()
	dir := j.logs
	j.mu.Unlock()
	if dir == "" {
		return nil
	}
	w := &Written{}
	for i, name := range []string{stdoutName, stderrName} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			w.Close()
			return nil
		}
		w.files[i] = f
	}
	return w
}

// Close gives the files up.
func (w *Written) Close() {
	for _, f := range w.files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Read returns at most most bytes of a stream from an offset on, where they begin, and whether that is its end now. A
// negative offset means the last bytes. What is further than window from the end is left out.
func (w *Written) Read(stream int, from, window int64, most int) (data []byte, at int64, end bool) {
	st, err := w.files[stream].Stat()
	if err != nil {
		return nil, max(0, from), true
	}
	size := st.Size()
	if from < 0 {
		from += size
	}
	at = max(from, size-window, 0)
	data = make([]byte, min(int64(most), max(0, size-at)))
	n, err := w.files[stream].ReadAt(data, at)
	if err != nil && !errors.Is(err, io.EOF) {
		n, size = 0, at // a disk that fails has no more to give
	}
	return data[:n], at, at+int64(n) >= size
}
