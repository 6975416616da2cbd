package dispatcher

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"

	"github.com/divvyhq/divvy/dispatcher/lease"
)

// tokenOf is what pilots hold: the fence of an attempt.
func tokenOf(k lease.Key) string {
	var b [20]byte
	binary.BigEndian.PutUint64(b[0:], uint64(k.Job))
	binary.BigEndian.PutUint32(b[8:], uint32(k.Attempt))
	binary.BigEndian.PutUint64(b[12:], uint64(k.Nonce))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// parseLease reads a token; ok is false for anything that is none. Such a lease is simply lost.
func parseLease(token string) (k lease.Key, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != 20 {
		return lease.Key{}, false
	}
	return lease.Key{
		Job:     int64(binary.BigEndian.Uint64(b[0:])),
		Attempt: int32(binary.BigEndian.Uint32(b[8:])),
		Nonce:   int64(binary.BigEndian.Uint64(b[12:])),
	}, true
}

// AttemptOf returns the attempt that a token is for; ok is false for anything that is none. Only LeaseQueues tells whether
// the lease is there.
func AttemptOf(token string) (job int64, attempt int, ok bool) {
	k, ok := parseLease(token)
	return k.Job, int(k.Attempt), ok
}

// newNonce is not guessable: who holds a token may end the attempt.
func newNonce() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]))
}
