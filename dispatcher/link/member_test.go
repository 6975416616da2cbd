package link

import (
	"slices"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Members see each other while they are there; a later start at an address takes the place of an earlier one.
func TestMember(t *testing.T) {
	db := pgtest.Open(t)
	join := func(address string) *Member {
		m, err := Join(t.Context(), Joining{DB: db, Address: address, Secret: "of " + address, Version: "v"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	peers := func(m *Member) (ids []int64) {
		all, err := m.Peers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			ids = append(ids, p.ID)
		}
		if m.Daemons() != len(all) {
			t.Errorf("%d daemons of %d", m.Daemons(), len(all))
		}
		return ids
	}
	beat := func(m *Member) int {
		n, err := m.Heartbeat(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	secret := func(id int64) string {
		s, err := join("").SecretOf(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a := join("a:1")
	if a.Daemons() != 1 {
		t.Errorf("%d daemons with the first", a.Daemons())
	}
	b := join("b:1")
	if got := peers(a); !slices.Equal(got, []int64{a.id, b.id}) {
		t.Errorf("peers are %v of %d, %d", got, a.id, b.id)
	}
	c := join("b:1")
	if got := peers(a); !slices.Equal(got, []int64{a.id, c.id}) || secret(b.id) != "" || secret(c.id) != "of b:1" {
		t.Errorf("peers are %v with %d in the place of %d", got, c.id, b.id)
	}
	if _, err := db.Exec(t.Context(), "UPDATE daemons SET seen_at = now() - interval '1 minute' WHERE id = $1", c.id); err != nil {
		t.Fatal(err)
	}
	if got := peers(a); slices.Contains(got, c.id) {
		t.Errorf("peers are %v, and %d is silent", got, c.id)
	}
	if n := beat(a); n != 1 || secret(c.id) != "" {
		t.Errorf("%d daemons are taken for dead", n)
	}
	if n := beat(c); n != 0 || !slices.Contains(peers(a), c.id) || secret(c.id) != "of b:1" {
		t.Errorf("a daemon that was taken for dead is not there again: %d", n)
	}
	if _, err := db.Exec(t.Context(), "DELETE FROM daemons WHERE id = $1", c.id); err != nil {
		t.Fatal(err)
	}
	if beat(c); !slices.Contains(peers(a), c.id) {
		t.Error("a daemon whose row was deleted is not there again")
	}
	if err := c.Leave(t.Context()); err != nil || slices.Contains(peers(a), c.id) || join("x").id <= c.id {
		t.Errorf("after it left: %v", err)
	}
}
