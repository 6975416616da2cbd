package wire

import (
	"fmt"
	"io"
)

// InputNames is n lines of NDJSON with names as long as files have.
type InputNames struct {
	N    int
	next int
	rest []byte
}

// Read is io.Reader.
func (r *InputNames) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.next == r.N {
			return 0, io.EOF
		}
		for end := min(r.next+1000, r.N); r.next < end; r.next++ {
			r.rest = fmt.Appendf(r.rest, "\"mc23_13p6TeV:AOD.%08d._%06d.pool.root.1\"\n", 38_000_000+r.next/1000, r.next)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
