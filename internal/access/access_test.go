package access

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// bench is a store on a database of its own, with a book.
type bench struct {
	t  *testing.T
	db *pgxpool.Pool
	*Store
	*Book
}

func newBench(t *testing.T, fixed ...Fixed) *bench {
	b := &bench{t: t, db: pgtest.Open(t)}
	if _, err := b.db.Exec(t.Context(), `INSERT INTO queues (name, position) VALUES ('CERN', 0), ('BNL', 1);
		INSERT INTO shares (name, path, position, leaf, weight) VALUES ('A', 'A', 0, false, 1)`); err != nil {
		t.Fatal(err)
	}
	b.Store = NewStore(b.db)
	b.Book = NewBook(b.Store, fixed...)
	return b
}

func (b *bench) create(n New) Made {
	b.t.Helper()
	n.By = "tester"
	m, err := b.Create(b.t.Context(), n)
	if err != nil {
		b.t.Fatal(err)
	}
	b.refresh()
	return m
}

func (b *bench) refresh() {
	b.t.Helper()
	if _, err := b.Refresh(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// The life of a token: made, let in, revoked, and its name free again.
func TestLife(t *testing.T) {
	b := newBench(t, Fixed{HashOf("file-token-0123456789"), &Caller{Name: "token file", Role: Admin, From: "token file"}})
	m := b.create(New{Name: "cern", Role: Pilot, Subject: Subject{Queues: []string{"CERN"}}})
	if !regexp.MustCompile(`^divvy_[0-9a-f]{10}_[A-Za-z0-9_-]{43}$`).MatchString(m.Text) || !strings.HasPrefix(m.Text, m.Prefix+"_") {
		t.Errorf("text %q, prefix %q", m.Text, m.Prefix)
	}
	c := b.Find(m.Text)
	if c == nil || c.ID != m.ID || c.Role != Pilot || !c.MayPull("CERN") || c.MayPull("BNL") || c.MayPull("") || new(Caller).MayPull("CERN") {
		t.Fatalf("%+v", c)
	}
	if c := b.Find("file-token-0123456789"); c == nil || c.Role != Admin || c.ID != 0 {
		t.Errorf("of the file: %+v", c)
	}
	for _, wrong := range []string{"", m.Prefix, m.Text[:len(m.Text)-1], m.Text + "x", strings.ToUpper(m.Text)} {
		if c := b.Find(wrong); c != nil {
			t.Errorf("%q is let in as %s", wrong, c)
		}
	}
	if _, err := b.Create(t.Context(), New{Name: "cern", Role: Reader}); !errors.Is(err, ErrName) {
		t.Errorf("the name again: %v", err)
	}
	for range 2 { // a repeat changes nothing
		r, err := b.Revoke(t.Context(), m.Text, "boss")
		if err != nil || r.RevokedAt == nil || r.RevokedBy != "boss" || r.State(time.Now()) != "revoked" {
			t.Fatalf("%+v %v", r, err)
		}
	}
	b.refresh()
	if c := b.Find(m.Text); c != nil {
		t.Errorf("revoked, and let in as %s", c)
	}
	again := b.create(New{Name: "cern", Role: Reader})
	if r, err := b.Revoke(t.Context(), "cern", "boss"); err != nil || r.ID != again.ID {
		t.Errorf("by its name: %+v %v", r, err)
	}
	_, err := b.Revoke(t.Context(), "divvy_ffffffffff_a-secret-that-is-not-to-be-said-again", "boss")
	if !errors.Is(err, ErrNoToken) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if live, err := b.List(t.Context(), false); err != nil || len(live) != 0 {
		t.Errorf("%v %v", live, err)
	}
	if all, err := b.List(t.Context(), true); err != nil || len(all) != 2 {
		t.Errorf("%v %v", all, err)
	}
}

// The text of a token is in no row: only its hash is.
func TestTextIsNotKept(t *testing.T) {
	b := newBench(t)
	m := b.create(New{Name: "a", Role: Admin})
	secret := m.Text[len(m.Prefix)+1:]
	var row string
	var n int
	if err := b.db.QueryRow(t.Context(), "SELECT t::text, (SELECT count(*) FROM tokens WHERE hash = sha256(convert_to($1, 'UTF8'))) FROM tokens t", m.Text).Scan(&row, &n); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(row, secret) || n != 1 {
		t.Errorf("%d rows by the hash; row %s", n, row)
	}
}

func TestExpiry(t *testing.T) {
	b := newBench(t)
	m := b.create(New{Name: "short", Role: Reader, ExpiresS: 60})
	if b.Find(m.Text) == nil {
		t.Fatal("not let in")
	}
	pgtest.Age(t, b.db, "tokens", "expires_at", time.Hour)
	b.refresh()
	if c := b.Find(m.Text); c != nil {
		t.Errorf("expired, and let in as %s", c)
	}
	if why := b.Expired(m.Text); why == nil || !strings.HasPrefix(why.Error(), `the token "short" expired at 20`) {
		t.Errorf("expired: %v", why)
	}
	if why := b.Expired(m.Text + "x"); why != nil {
		t.Errorf("a token that never was: %v", why)
	}
	all, err := b.List(t.Context(), true)
	if err != nil || len(all) != 1 || all[0].State(time.Now()) != "expired" {
		t.Errorf("%+v %v", all, err)
	}
}

// Last use is written by the step, once for all that was found since, and only then.
func TestLastUse(t *testing.T) {
	b := newBench(t)
	used, idle := b.create(New{Name: "used", Role: Reader}), b.create(New{Name: "idle", Role: Reader})
	mark := func() int {
		t.Helper()
		n, err := b.MarkUsed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := mark(); n != 0 {
		t.Errorf("%d used before any was", n)
	}
	for range 1000 {
		b.Find(used.Text)
	}
	b.refresh() // keeps what it knows
	if n := mark(); n != 1 {
		t.Errorf("%d used, want 1", n)
	}
	if n := mark(); n != 0 {
		t.Errorf("%d used again", n)
	}
	all, err := b.List(t.Context(), true)
	if err != nil || len(all) != 2 || all[0].ID != idle.ID || all[0].UsedAt != nil || all[1].UsedAt == nil {
		t.Errorf("%+v %v", all, err)
	}
}

// A token is not made for a queue or a share that the site does not have, and its error names those that it has.
func TestStrangers(t *testing.T) {
	b := newBench(t)
	for want, n := range map[string]New{
		`the site has no queue "CREN"; it has CERN, BNL`: {Role: Pilot, Subject: Subject{Queues: []string{"CERN", "CREN"}}},
		`the site has no share "A/B"; it has A`:          {Role: ShareOwner, Subject: Subject{Share: "A/B"}},
	} {
		n.Name = "x"
		if _, err := b.Create(t.Context(), n); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", n.Subject, err, want)
		}
	}
	b.create(New{Name: "a", Role: ShareOwner, Subject: Subject{Share: "A"}})
	b.create(New{Name: "p", Role: Pilot})
	if all, err := b.List(t.Context(), true); err != nil || len(all) != 2 {
		t.Errorf("%+v %v", all, err)
	}
}

// Validate and the table refuse the same.
func TestSubjects(t *testing.T) {
	b := newBench(t)
	for _, role := range append(Roles(), "boss") {
		for bits := range 8 {
			n := New{Name: "x", Role: role}
			if bits&1 != 0 {
				n.User = "alice"
			}
			if bits&2 != 0 {
				n.Queues = []string{"CERN"}
			}
			if bits&4 != 0 {
				n.Share = "A/B"
			}
			said := n.Validate()
			_, err := b.db.Exec(t.Context(), `INSERT INTO tokens (name, prefix, hash, role, user_name, queues, share, created_by, revoked_at, revoked_by)
				VALUES ('x', $1, sha256($1::text::bytea), $2, nullif($3, ''), $4, nullif($5, ''), 't', now(), 't')`,
				string(role)+string(rune('0'+bits)), string(role), n.User, append([]string{}, n.Queues...), n.Share)
			if (said == nil) != (err == nil) {
				t.Errorf("%s %+v: Validate says %v, the table %v", role, n.Subject, said, err)
			}
			want := map[Role]int{Submitter: 1, ShareOwner: 4}[role]
			if ok := role != "boss" && (bits == want || role == Pilot && bits == 2); ok != (said == nil) {
				t.Errorf("%s %+v: %v", role, n.Subject, said)
			}
		}
	}
	for _, n := range []New{{Role: Reader}, {Name: " a", Role: Reader}, {Name: "a\nb", Role: Reader}, {Name: strings.Repeat("x", 101), Role: Reader},
		{Name: "a", Role: Reader, ExpiresS: -1}, {Name: "a", Role: Pilot, Subject: Subject{Queues: []string{""}}}} {
		if _, err := b.Create(t.Context(), n); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", n, err)
		}
	}
}

// Two tokens whose hashes begin alike are told apart.
func TestSameKey(t *testing.T) {
	h, like := HashOf("one"), HashOf("one")
	like[31]++
	b := NewBook(nil, Fixed{h, &Caller{Name: "one"}}, Fixed{like, &Caller{Name: "like"}})
	if c := b.Find("one"); c == nil || c.Name != "one" {
		t.Errorf("%+v", c)
	}
	if c := b.Match(KeyOf(h), func(have Hash) bool { return have == like }); c == nil || c.Name != "like" {
		t.Errorf("%+v", c)
	}
}

func TestOwns(t *testing.T) {
	c := &Caller{Name: "h", Role: ShareOwner, Subject: Subject{Share: "Physics/Higgs"}}
	for share, want := range map[string]bool{"Physics/Higgs/MC": true, "Physics/Higgs/MC/x": true, "Physics/Higgs": false, "Physics/Higgs2/MC": false, "Physics": false, "": false} {
		if c.Owns(share) != want {
			t.Errorf("%q: %v", share, !want)
		}
	}
	if !slices.Contains(Roles(), c.Role) || c.OnlyUser() != "" {
		t.Errorf("%s", c)
	}
}

// What a request pays for a token, among so many.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		var fixed []Fixed
		for range n {
			text, _ := newText()
			fixed = append(fixed, Fixed{HashOf(text), &Caller{Name: "x", Role: Pilot}})
		}
		text, _ := newText()
		book := NewBook(nil, append(fixed, Fixed{HashOf(text), &Caller{Name: "pilot", Role: Pilot, used: &mark{}}})...)
		b.Run(map[int]string{1: "of 2", 10_000: "of 10001"}[n], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if book.Find(text) == nil {
					b.Fatal("not found")
				}
			}
		})
	}
}
