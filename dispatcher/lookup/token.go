package lookup

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/divvyhq/divvy/dispatcher/fold"
)

// token is what pilots hold of an attempt.
func token(f fold.Fence) string {
	var b [20]byte
	binary.BigEndian.PutUint64(b[0:], uint64(f.Job))
	binary.BigEndian.PutUint32(b[8:], uint32(f.Attempt))
	binary.BigEndian.PutUint64(b[12:], uint64(f.Nonce))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// parse reads a token; ok is false for anything that is none. Such a lease is simply lost.
func parse(token string) (f fold.Fence, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != 20 {
		return f, false
	}
	return fold.Fence{Job: int64(binary.BigEndian.Uint64(b[0:])), Attempt: int32(binary.BigEndian.Uint32(b[8:])),
		Nonce: int64(binary.BigEndian.Uint64(b[12:]))}, true
}
