package sandbox

import (
	"bytes"
	"compress/gzip"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// packed is a gzip file, and the checksum of what is in it.
func packed(t *testing.T, content []byte) (file []byte, checksum int64) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), int64(crc32.ChecksumIEEE(content))
}

func read(t *testing.T, s *Store, name string) []byte {
	t.Helper()
	f, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.CopyTo(t.Context(), &b); err != nil || int64(b.Len()) != f.Size {
		t.Fatalf("%d of %d bytes, %v", b.Len(), f.Size, err)
	}
	return b.Bytes()
}

func TestStore(t *testing.T) {
	s, ctx := NewStore(pgtest.Open(t)), t.Context()
	noise := make([]byte, 5<<19) // two pieces and a half
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	large, crc := packed(t, noise)
	small, _ := packed(t, []byte("x"))
	for _, c := range []struct {
		owner, name string
		content     []byte
		want        error
	}{
		{"alice", "jobO.1.tar.gz", small, nil},
		{"alice", "jobO.1.tar.gz", large, nil}, // the owner replaces it
		{"bob", "jobO.1.tar.gz", small, ErrForeign},
		{"", "jobO.1.tar.gz", small, ErrForeign},
		{"alice", "../x", small, ErrInvalid},
		{"alice", ".x", small, ErrInvalid},
		{"alice", "a b", small, ErrInvalid},
		{"alice", "", small, ErrInvalid},
		{"alice", "plain", []byte("not packed"), ErrInvalid},
		{"alice", "large", make([]byte, MaxSize+1), ErrInvalid},
	} {
		if err := s.Put(ctx, c.owner, c.name, c.content); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s %q: %v, want %v", c.owner, c.name, err, c.want)
		}
	}
	if !bytes.Equal(read(t, s, "jobO.1.tar.gz"), large) {
		t.Error("what was read is not what was kept")
	}
	if name, err := s.Find(ctx, "alice", int64(len(large)), crc); err != nil || name != "jobO.1.tar.gz" {
		t.Errorf("%q, %v", name, err)
	}
	for what, look := range map[string]func() (string, error){
		"another's":        func() (string, error) { return s.Find(ctx, "bob", int64(len(large)), crc) },
		"another size":     func() (string, error) { return s.Find(ctx, "alice", int64(len(small)), crc) },
		"another checksum": func() (string, error) { return s.Find(ctx, "alice", int64(len(large)), crc+1) },
	} {
		if name, err := look(); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %q, %v", what, name, err)
		}
	}
	if _, err := s.Open(ctx, "jobO.2.tar.gz"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

// A reader never gets pieces of two versions.
func TestReplacedWhileRead(t *testing.T) {
	s := NewStore(pgtest.Open(t))
	one, _ := packed(t, []byte("one"))
	two, _ := packed(t, []byte("two"))
	if err := s.Put(t.Context(), "alice", "x", one); err != nil {
		t.Fatal(err)
	}
	f, err := s.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "alice", "x", two); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.CopyTo(t.Context(), &b); !errors.Is(err, ErrNone) || b.Len() > 0 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}

func TestFull(t *testing.T) {
	db := pgtest.Open(t)
	s, ctx := NewStore(db), t.Context()
	small, _ := packed(t, []byte("x"))
	if err := s.Put(ctx, "alice", "mine", small); err != nil {
		t.Fatal(err)
	}
	// As if it were as large as an owner may have: sizes are what is counted.
	if _, err := db.Exec(ctx, "ALTER TABLE sandboxes DROP CONSTRAINT sandboxes_check"); err != nil {
		t.Fatal(err)
	}
	grow := func(size int64) {
		if tag, err := db.Exec(ctx, "UPDATE sandboxes SET size = $1 WHERE name = 'mine'", size); err != nil || tag.RowsAffected() != 1 {
			t.Fatal(tag, err)
		}
	}
	grow(maxOwner)
	if err := s.Put(ctx, "alice", "more", small); !errors.Is(err, ErrFull) {
		t.Errorf("more than an owner may have: %v", err)
	}
	if err := s.Put(ctx, "bob", "his", small); err != nil {
		t.Errorf("another owner: %v", err)
	}
	grow(maxAll)
	if err := s.Put(ctx, "bob", "his too", small); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
	if err := s.Put(ctx, "bob", "his-2", small); !errors.Is(err, ErrFull) {
		t.Errorf("more than all may have: %v", err)
	}
	if err := s.Put(ctx, "alice", "mine", small); err != nil {
		t.Errorf("one that makes room: %v", err)
	}
}

func TestPurge(t *testing.T) {
	db := pgtest.Open(t)
	s, ctx := NewStore(db), t.Context()
	small, crc := packed(t, []byte("x"))
	for _, name := range []string{"forgotten", "fetched", "found"} {
		if err := s.Put(ctx, name, name, small); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(ctx, "UPDATE sandboxes SET used_at = used_at - $1::interval", Unused+time.Hour); err != nil {
		t.Fatal(err)
	}
	read(t, s, "fetched")
	if _, err := s.Find(ctx, "found", int64(len(small)), crc); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Purge(ctx); err != nil || n != 1 {
		t.Fatalf("%d, %v; want the one that nobody used", n, err)
	}
	if _, err := s.Open(ctx, "forgotten"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}
