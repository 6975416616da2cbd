package payload

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Written is what a job writes to stdout (0) and stderr (1). It can be read while the job runs, and after its folder was
// removed.
type Written struct{ files [2]*os.File }

// Written gives what the job has written so far to be read; nil when it has not started yet, or nothing can be read.
func (j *Job) Written() *Written {
	j.mu.Lock()
	running := j.running
	j.mu.Unlock()
	if !running {
		return nil
	}
	w := &Written{}
	for i, f := range j.streams {
		if i == 1 && f == j.streams[0] {
			break // one file for both: it is shown once
		}
		var err error
		if w.files[i], err = again(f); err != nil {
			w.Close()
			return nil
		}
	}
	return w
}

// again is a file under another descriptor, which stays open when the job's is closed. It may be one that only the user of the job
// could open.
func again(f *os.File) (*os.File, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var failed error
	if err := raw.Control(func(own uintptr) { fd, failed = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// Whole returns all that was written so far, by the name of a log; of what is no file, as a terminal, nothing.
func (w *Written) Whole() map[string]*io.SectionReader {
	all := map[string]*io.SectionReader{}
	for i, name := range []string{stdoutName, stderrName} {
		if f := w.files[i]; f != nil {
			if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
				all[name] = io.NewSectionReader(f, 0, st.Size())
			}
		}
	}
	return all
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
	f := w.files[stream]
	if f == nil {
		return nil, max(0, from), true
	}
	st, err := f.Stat()
	if err != nil {
		return nil, max(0, from), true
	}
	size := st.Size()
	if from < 0 {
		from += size
	}
	at = max(from, size-window, 0)
	data = make([]byte, min(int64(most), max(0, size-at)))
	n, err := f.ReadAt(data, at)
	if err != nil && !errors.Is(err, io.EOF) {
		n, size = 0, at // a disk that fails has no more to give
	}
	return data[:n], at, at+int64(n) >= size
}
