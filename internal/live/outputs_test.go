package live

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// author is a pilot with one attempt, and all that it wrote.
type author struct {
	key     Key
	written [2][]byte
	ended   bool
}

// answers returns the chunks that answer what is wanted, as a pilot makes them: at most the last mib bytes, and at most
// so many in one chunk.
func (a *author) answers(wanted []OutputWanted, mib, most int) (chunks []Chunk) {
	for _, w := range wanted {
		all := a.written[w.Stream.place()]
		from := w.From
		if from < 0 {
			from += int64(len(all))
		}
		from = max(from, int64(len(all)-mib), 0)
		data := all[min(from, int64(len(all))):]
		data = data[:min(len(data), most)]
		end := a.ended && from+int64(len(data)) == int64(len(all))
		if len(data) > 0 || end {
			chunks = append(chunks, Chunk{OutputChunk{"lease", w.Stream, w.From, from, data, end}, a.key, true})
		}
	}
	return chunks
}

// reader checks that what it reads is what was written, from where it says.
type reader struct{ at [2]int64 }

func (r *reader) read(t *rapid.T, o *Outputs, a *author, runs bool) Answer {
	q := Question{Key: a.key, From: r.at}
	if runs {
		q.Pilot = "p"
	}
	got := o.Read(context.Background(), q)
	for _, p := range got.Pieces {
		i := p.Stream.place()
		if p.Offset < r.at[i] {
			t.Fatalf("%s: a piece at %d, although %d was asked for", p.Stream, p.Offset, r.at[i])
		}
		if end := p.Offset + int64(len(p.Data)); end > int64(len(a.written[i])) || !bytes.Equal(p.Data, a.written[i][p.Offset:end]) {
			t.Fatalf("%s: the %d bytes at %d are not those that were written", p.Stream, len(p.Data), p.Offset)
		}
		r.at[i] = p.Offset + int64(len(p.Data))
	}
	return got
}

// Whatever is written, sent, repeated, lost, and whenever a daemon begins anew: readers read what was written, and when
// the end is there all of the last bytes.
func TestReadersReadWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const mib = 100
		limits := Limits{Stream: mib, All: 10 * mib, Piece: rapid.IntRange(1, 60).Draw(t, "piece")}
		o, a := New(limits), &author{key: Key{7, 1}}
		readers := []*reader{{}, {}, {at: [2]int64{-20, -20}}}
		var old []Chunk
		n := 0
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"write", "write", "send", "send", "read", "read", "repeat", "restart"}).Draw(t, "step") {
			case "write":
				i := rapid.IntRange(0, 1).Draw(t, "stream")
				for range rapid.IntRange(1, 70).Draw(t, "bytes") {
					a.written[i] = append(a.written[i], fmt.Sprint(n)...)
					n++
				}
			case "send":
				wanted, _ := o.Exchange("p", nil, time.Time{}, nil)
				old = a.answers(wanted, mib, rapid.IntRange(1, 150).Draw(t, "most"))
				o.Exchange("p", old, time.Time{}, nil)
			case "repeat":
				o.Exchange("p", old, time.Time{}, nil)
			case "restart":
				o = New(limits)
			case "read":
				readers[rapid.IntRange(0, len(readers)-1).Draw(t, "reader")].read(t, o, a, true)
			}
			if bytes, _ := o.Size(); bytes > 2*mib {
				t.Fatalf("%d bytes of two streams of %d", bytes, mib)
			}
		}
		a.ended = true
		for _, r := range readers {
			for try := 0; ; try++ {
				if r.read(t, o, a, true).Ended {
					break
				}
				if try > 100+n {
					t.Fatal("the end does not come")
				}
				wanted, _ := o.Exchange("p", nil, time.Time{}, nil)
				o.Exchange("p", a.answers(wanted, mib, 150), time.Time{}, nil)
			}
			for i := range r.at {
				if r.at[i] != int64(len(a.written[i])) && len(a.written[i]) > 0 {
					t.Fatalf("%d of %d bytes at the end", r.at[i], len(a.written[i]))
				}
			}
		}
	})
}

func TestGapIsShown(t *testing.T) {
	o, a := New(Limits{Stream: 10}), &author{key: Key{7, 1}}
	q := Question{Key: a.key, Pilot: "p"}
	o.Read(t.Context(), q)
	a.written[0] = []byte("0123456789abcdefghijklmn")
	wanted, _ := o.Exchange("p", nil, time.Time{}, nil)
	o.Exchange("p", a.answers(wanted, 10, 100), time.Time{}, nil)
	got := o.Read(t.Context(), q)
	if len(got.Pieces) != 1 || got.Pieces[0].Offset != 14 || string(got.Pieces[0].Data) != "efghijklmn" {
		t.Errorf("read %+v", got)
	}
}

// A reader who comes when another had the end, of which nothing before is kept, is shown what it missed.
func TestGapAtTheEnd(t *testing.T) {
	o, a := New(Limits{}), &author{key: Key{7, 1}, written: [2][]byte{[]byte("all"), nil}, ended: true}
	o.Read(t.Context(), Question{Key: a.key, Pilot: "p", From: [2]int64{3, 0}})
	wanted, _ := o.Exchange("p", nil, time.Time{}, nil)
	o.Exchange("p", a.answers(wanted, 10, 100), time.Time{}, nil)
	got := o.Read(t.Context(), Question{Key: a.key, Pilot: "p"})
	if len(got.Pieces) != 1 || got.Pieces[0].Offset != 3 || len(got.Pieces[0].Data) != 0 || !got.Ended {
		t.Errorf("read %+v", got)
	}
}

// Only the lease of the attempt brings output, and after its end only one that did before.
func TestLease(t *testing.T) {
	chunk := func(lease string, runs bool, text string) Chunk {
		return Chunk{OutputChunk{Lease: lease, Stream: Stdout, Data: []byte(text)}, Key{7, 1}, runs}
	}
	later := func(c Chunk) Chunk { c.Wanted, c.Offset = 4, 4; return c }
	cases := []struct {
		name   string
		chunks []Chunk
		want   string
	}{
		{"runs", []Chunk{chunk("a", true, "mine")}, "mine"},
		{"over", []Chunk{chunk("a", false, "late")}, ""},
		{"ran", []Chunk{chunk("a", true, "mine"), later(chunk("a", false, "more"))}, "minemore"},
		{"another", []Chunk{chunk("a", true, "mine"), later(chunk("b", true, "more"))}, "mine"},
		{"repeated", []Chunk{chunk("a", true, "mine"), chunk("a", true, "mine")}, "mine"},
		{"not followed", []Chunk{{chunk("a", true, "else").OutputChunk, Key{8, 1}, true}}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o, q := New(Limits{}), Question{Key: Key{7, 1}, Pilot: "p"}
			o.Read(t.Context(), q)
			o.Exchange("p", c.chunks, time.Time{}, nil)
			text := ""
			for _, p := range o.Read(t.Context(), q).Pieces {
				text += string(p.Data)
			}
			if text != c.want {
				t.Errorf("read %q, want %q", text, c.want)
			}
		})
	}
}

// All together stays within its bound, and what was read longest ago goes first.
func TestBoundOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Limits{Stream: 100, All: 250})
		for job := range int64(4) {
			a := &author{key: Key{job, 1}, written: [2][]byte{bytes.Repeat([]byte("x"), 100)}}
			o.Read(t.Context(), Question{Key: a.key, Pilot: fmt.Sprint("p", job)})
			wanted, _ := o.Exchange(fmt.Sprint("p", job), nil, time.Time{}, nil)
			o.Exchange(fmt.Sprint("p", job), a.answers(wanted, 100, 100), time.Time{}, nil)
			time.Sleep(time.Millisecond)
		}
		if size, n := o.Size(); size != 200 || n != 2 {
			t.Errorf("%d bytes of %d attempts", size, n)
		}
		if a := o.Read(t.Context(), Question{Key: Key{0, 1}}); a.Known {
			t.Errorf("the oldest one is still there: %+v", a)
		}
		time.Sleep(6 * time.Minute)
		o.Tend(true)
		if size, n := o.Size(); size != 0 || n != 0 || len(o.pilots) != 0 {
			t.Errorf("%d bytes of %d attempts, %d pilots are left", size, n, len(o.pilots))
		}
	})
}

// A pilot that waits is told at once when it is followed, at the end of its time, and when the daemon does not lead.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, told := New(Limits{}), 0
		wait := func() func() bool {
			wanted, leave := o.Exchange("p", nil, time.Now().Add(time.Minute), func() { told++ })
			if len(wanted) > 0 {
				t.Fatalf("wanted at once: %+v", wanted)
			}
			return leave
		}
		is := func(what string, n int) {
			t.Helper()
			if synctest.Wait(); told != n {
				t.Errorf("%s: told %d times, want %d", what, told, n)
			}
		}
		leave := wait()
		o.Tend(true)
		is("nothing happened", 0)
		if !leave() || leave() {
			t.Error("it leaves once")
		}
		leave = wait()
		o.Read(t.Context(), Question{Key: Key{7, 1}, Pilot: "p"})
		is("followed", 1)
		if leave() {
			t.Error("it leaves although it was told")
		}
		if wanted, _ := o.Exchange("p", nil, time.Now().Add(time.Minute), func() { told++ }); len(wanted) != 2 {
			t.Errorf("wanted %+v", wanted)
		}
		time.Sleep(11 * time.Second) // it is followed no more
		wait()
		time.Sleep(time.Minute)
		o.Tend(true)
		is("its time was over", 2)
		wait()
		o.Tend(false)
		is("another leads", 3)
	})
}

// A reader that waits has a piece as soon as it is there, and goes on without one when the pilot died with the end.
func TestReadWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := New(Limits{}), &author{key: Key{7, 1}}
		got := make(chan Answer)
		go func() { got <- o.Read(t.Context(), Question{Key: a.key, Pilot: "p", Wait: time.Minute}) }()
		synctest.Wait()
		a.written[1] = []byte("error")
		wanted, _ := o.Exchange("p", nil, time.Time{}, nil)
		o.Exchange("p", a.answers(wanted, 100, 100), time.Time{}, nil)
		if r := <-got; len(r.Pieces) != 1 || r.Pieces[0].Stream != Stderr || !r.Known || r.Ended {
			t.Errorf("read %+v", r)
		}
		q := Question{Key: a.key, From: [2]int64{0, 5}}
		if r := o.Read(t.Context(), q); !r.Known || r.Ended {
			t.Errorf("its end may still come: %+v", r)
		}
		time.Sleep(6 * time.Second)
		if r := o.Read(t.Context(), q); r.Known {
			t.Errorf("its end does not come: %+v", r)
		}
		if r := o.Read(t.Context(), Question{Key: a.key}); !r.Known || len(r.Pieces) != 1 {
			t.Errorf("what came is there: %+v", r)
		}
	})
}
