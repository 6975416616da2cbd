package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Bounds of what is reported.
const (
	mostLog     = 16 << 10 // bytes of log
	mostOutputs = 64 << 10 // bytes of outputs
	mostMessage = 4000     // bytes of message, below the server's 4096
)

// logTail is the end of stdout and, when there is any, of stderr below it. The two share 16 KiB; what one does
// not need the other may have.
func logTail(streams [2]*os.File) string {
	out, outAll := tail(streams[0])
	if streams[0] == streams[1] {
		return text(out, outAll)
	}
	errs, errAll := tail(streams[1])
	if errAll == 0 {
		return text(out, outAll)
	}
	if outAll == 0 {
		return text(errs, errAll)
	}
	half := mostLog/2 - 64 // room for the headings
	keepErr := max(half, 2*half-len(out))
	keepOut := max(half, 2*half-len(errs))
	return fmt.Sprintf("--- stdout\n%s\n--- stderr\n%s", strings.TrimSuffix(text(last(out, keepOut), outAll), "\n"), text(last(errs, keepErr), errAll))
}

// tail is the end of a file and its whole length. A log that cannot be read is an empty one: the job is what counts.
func tail(f *os.File) ([]byte, int64) {
	if f == nil {
		return nil, 0
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, 0
	}
	size := st.Size()
	from := max(0, size-mostLog)
	b, err := io.ReadAll(io.NewSectionReader(f, from, size-from))
	if err != nil {
		return nil, 0
	}
	return b, size
}

func last(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// text is b, the end of something of all bytes, as text that JSON and PostgreSQL take. A cut line is left out.
func text(b []byte, all int64) string {
	cut := all - int64(len(b))
	if cut > 0 {
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i < 1024 && i+1 < len(b) {
			b, cut = b[i+1:], cut+int64(i)+1
		}
	}
	s := strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "\uFFFD")
	if cut > 0 {
		s = fmt.Sprintf("[%d bytes before]\n%s", cut, s)
	}
	return s
}

// Clip makes a message fit, without cutting a character.
func Clip(s string) string {
	s = text([]byte(s), int64(len(s)))
	if len(s) <= mostMessage {
		return s
	}
	s = s[:mostMessage]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// readOutputs is the JSON object that the job wrote, and its size; nil when it wrote none.
func readOutputs(file string) (map[string]any, int, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // a FIFO must not hold us up
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, 0, errors.New("not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, mostOutputs+1))
	switch {
	case err != nil:
		return nil, 0, err
	case len(b) > mostOutputs:
		return nil, 0, fmt.Errorf("more than %d bytes", mostOutputs)
	case len(bytes.TrimSpace(b)) == 0:
		return nil, 0, nil
	case bytes.Contains(b, []byte(`\u0000`)):
		return nil, 0, errors.New(`the character \u0000 cannot be stored`)
	}
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber() // as they were written
	if err := dec.Decode(&m); err != nil || m == nil {
		return nil, 0, errors.New("not a JSON object")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, 0, errors.New("more than one JSON value")
	}
	return m, len(b), nil
}
