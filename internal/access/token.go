package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Errors that callers tell apart.
var (
	ErrNoToken = errors.New("there is no such token")
	ErrName    = errors.New("a token with this name is there already")
	ErrInvalid = errors.New("this is no token that can be made")
)

// Hash is the SHA-256 of a token's text.
type Hash [sha256.Size]byte

// HashOf is the hash of a token.
func HashOf(text string) Hash { return sha256.Sum256([]byte(text)) }

// scheme begins every token, so that scanners for leaked secrets can know one.
const scheme = "divvy_"

// newText makes the text of a token and its prefix: divvy_<10 hex digits>_<256 random bits in base64url>.
func newText() (text, prefix string) {
	var b [5 + 32]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	prefix = scheme + hex.EncodeToString(b[:5])
	return prefix + "_" + base64.RawURLEncoding.EncodeToString(b[5:]), prefix
}

// Token is one of the table, without its text.
type Token struct {
	ID     int64  `json:"id" doc:"Id of the token."`
	Name   string `json:"name" doc:"Name of the token; those that are not revoked differ."`
	Prefix string `json:"prefix" doc:"The begin of the token's text, by which it is found."`
	Role   Role   `json:"role" enum:"pilot,submitter,share-owner,operator,reader,admin" doc:"What its owner may do."`
	Subject
	CreatedAt time.Time  `json:"created_at" doc:"When it was made."`
	CreatedBy string     `json:"created_by" doc:"Who made it."`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"When it ends; absent = never."`
	RevokedAt *time.Time `json:"revoked_at,omitempty" doc:"When it was revoked."`
	RevokedBy string     `json:"revoked_by,omitempty" doc:"Who revoked it."`
	UsedAt    *time.Time `json:"used_at,omitempty" doc:"When it was used last, to a minute; absent = never."`
}

// State is live, expired or revoked.
func (t Token) State(now time.Time) string {
	switch {
	case t.RevokedAt != nil:
		return "revoked"
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return "expired"
	}
	return "live"
}

// New is a token that is to be made.
type New struct {
	Name string `json:"name" minLength:"1" maxLength:"100" doc:"Name of the token, for lists and the audit."`
	Role Role   `json:"role" enum:"pilot,submitter,share-owner,operator,reader,admin" doc:"What its owner may do."`
	Subject
	ExpiresS float64 `json:"expires_s,omitempty" minimum:"0" maximum:"3153600000" doc:"Seconds until it ends; 0 or absent = never."`
	By       string  `json:"-"` // who makes it
}

// Bounds of a subject.
const (
	maxName   = 100
	maxQueues = 1000
)

// Validate says everything that is wrong with n, as ErrInvalid.
func (n New) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...)))
	}
	if n.Name != strings.TrimSpace(n.Name) || n.Name == "" || len(n.Name) > maxName || strings.ContainsFunc(n.Name, control) {
		bad("name is %q, expected 1 to %d letters on one line", n.Name, maxName)
	}
	if !slices.Contains(Roles(), n.Role) {
		bad("role is %q, expected pilot, submitter, share-owner, operator, reader or admin", n.Role)
	}
	if (n.Role == Submitter) != (n.User != "") {
		bad("user is %q: a submitter has one, and nobody else", n.User)
	}
	if (n.Role == ShareOwner) != (n.Share != "") {
		bad("share is %q: a share-owner has one, the path of a node such as Physics/Higgs, and nobody else", n.Share)
	}
	if n.Role != Pilot && len(n.Queues) > 0 || len(n.Queues) > maxQueues || slices.Contains(n.Queues, "") {
		bad("queues are %q: pilots only have up to %d, each with a name", n.Queues, maxQueues)
	}
	if n.ExpiresS < 0 {
		bad("expires_s is %g, expected seconds from now", n.ExpiresS)
	}
	return errors.Join(errs...)
}

func control(r rune) bool { return r < ' ' || r == 0x7f }
