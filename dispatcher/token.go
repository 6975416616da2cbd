package dispatcher

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
)

// leaseKey is the fence of an attempt: what a lease token stands for.
type leaseKey struct {
	job     int64
	attempt int32
	nonce   int64
}

// String is the token that pilots hold.
func (k leaseKey) String() string {
	var b [20]byte
	binary.BigEndian.PutUint64(b[0:], uint64(k.job))
	binary.BigEndian.PutUint32(b[8:], uint32(k.attempt))
	binary.BigEndian.PutUint64(b[12:], uint64(k.nonce))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// parseLease reads a token; ok is false for anything that is none. Such a lease is simply lost.
func parseLease(token string) (k leaseKey, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != 20 {
		return leaseKey{}, false
	}
	return leaseKey{
		job:     int64(binary.BigEndian.Uint64(b[0:])),
		attempt: int32(binary.BigEndian.Uint32(b[8:])),
		nonce:   int64(binary.BigEndian.Uint64(b[12:])),
	}, true
}

// newNonce is not guessable: who holds a token may end the attempt.
func newNonce() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]))
}
