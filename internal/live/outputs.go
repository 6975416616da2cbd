package live

import (
	"context"
	"sync"
	"time"
)

// Outputs are the outputs that are followed, and the pilots that wait for a wish.
type Outputs struct {
	limits Limits

	mu       sync.Mutex
	attempts map[Key]*attempt
	pilots   map[string]*pilot // those of attempts, and those that wait
	size     int               // bytes of all streams
	open     context.Context   // until the daemon stops
	stop     context.CancelFunc
}

// pilot is what is known of one.
type pilot struct {
	attempts map[Key]*attempt
	waits    map[*wait]struct{}
}

// attempt is one that is followed, or was.
type attempt struct {
	pilot   string
	lease   string // empty: nothing came yet
	streams [2]stream
	read    time.Time     // when it was last read, or will have been: a Read that waits counts to its end
	over    time.Time     // when a reader first said that it has ended; zero: it runs
	changed chan struct{} // closed and made anew when something comes
}

// wait is an Exchange of a pilot that waits.
type wait struct {
	until time.Time
	told  func()
}

// New returns an empty Outputs.
func New(l Limits) *Outputs {
	o := &Outputs{limits: l.complete(), attempts: map[Key]*attempt{}, pilots: map[string]*pilot{}}
	o.open, o.stop = context.WithCancel(context.Background())
	return o
}

// Read returns what an attempt wrote from the offsets of the question on, and waits until there is something. If the
// attempt runs its pilot is asked for it from now on.
func (o *Outputs) Read(ctx context.Context, q Question) Answer {
	ctx, cancel := context.WithTimeout(ctx, q.Wait)
	defer cancel()
	for {
		a, changed := o.look(q)
		if len(a.Pieces) > 0 || a.Ended || !a.Known || q.Wait <= 0 {
			return a
		}
		select {
		case <-changed:
		case <-o.open.Done():
			return a
		case <-ctx.Done():
			return a
		}
	}
}

func (o *Outputs) look(q Question) (a Answer, changed <-chan struct{}) {
	most := q.Most
	if most <= 0 {
		most = o.limits.Piece
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	is := o.attempts[q.Key]
	switch {
	case is == nil && q.Pilot == "":
		return a, nil
	case is == nil:
		is = &attempt{changed: make(chan struct{})}
		o.attempts[q.Key] = is
	case q.Pilot == "" && is.over.IsZero():
		is.over = now
	}
	o.ask(is, q, now)
	a.Known, a.Ended = true, true
	for i := range is.streams {
		s := &is.streams[i]
		data, at := s.from(q.From[i], most)
		gap := at > max(q.From[i], 0) && (q.From[i] >= 0 || s.ended) // there may be nothing behind it
		if len(data) > 0 || gap {
			a.Pieces = append(a.Pieces, Piece{Stream: streams[i], Offset: at, Data: append([]byte{}, data...)})
		}
		a.Ended = a.Ended && s.ended && at+int64(len(data)) >= s.next
	}
	if !is.over.IsZero() && now.Sub(is.over) > o.limits.Settle && !a.Ended && len(a.Pieces) == 0 {
		a.Known = false // the pilot has gone with the end of it
	}
	return a, is.changed
}

// ask notes what a reader wants, and tells the pilot.
func (o *Outputs) ask(is *attempt, q Question, now time.Time) {
	fresh := is.pilot == "" && q.Pilot != ""
	more := fresh || now.Sub(is.read) > o.limits.Followed
	if until := now.Add(q.Wait); until.After(is.read) {
		is.read = until
	}
	if fresh {
		is.pilot = q.Pilot
		o.pilotOf(q.Pilot).attempts[q.Key] = is
	}
	for i := range is.streams {
		s := &is.streams[i]
		before := len(s.data)
		more = s.want(q.From[i], fresh) || more
		o.size += len(s.data) - before
	}
	if more {
		o.tell(is.pilot)
	}
}

// Exchange takes chunks of a pilot and returns what is wanted of it. If that is nothing, it calls told once when
// something is wanted, or at until; leave ends the wait, and is true if told was not and will not be called. Without
// told it does not wait.
func (o *Outputs) Exchange(pilot string, chunks []Chunk, until time.Time, told func()) (wanted []OutputWanted, leave func() bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for _, c := range chunks {
		o.put(c)
	}
	o.shrink()
	wanted = o.wanted(pilot, now)
	if len(wanted) > 0 || told == nil || !until.After(now) || o.open.Err() != nil {
		return wanted, nil
	}
	w := &wait{until, told}
	o.pilotOf(pilot).waits[w] = struct{}{}
	return nil, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.forget(pilot, w)
	}
}

// Wait is Exchange that waits itself.
func (o *Outputs) Wait(ctx context.Context, pilot string, chunks []Chunk, wait time.Duration) (wanted []OutputWanted) {
	told := make(chan struct{})
	wanted, leave := o.Exchange(pilot, chunks, time.Now().Add(wait), func() { close(told) })
	if leave == nil {
		return wanted
	}
	select {
	case <-told:
	case <-ctx.Done():
		leave()
	}
	wanted, _ = o.Exchange(pilot, nil, time.Time{}, nil)
	return wanted
}

func (o *Outputs) put(c Chunk) {
	is, place := o.attempts[c.Key], c.Stream.place()
	if is == nil || place < 0 || is.lease != c.Lease && !(c.Runs && is.lease == "") {
		return
	}
	grown, ok := is.streams[place].put(c.OutputChunk, o.limits.Stream)
	if !ok {
		return
	}
	is.lease = c.Lease
	o.size += grown
	close(is.changed)
	is.changed = make(chan struct{})
}

func (o *Outputs) wanted(name string, now time.Time) (all []OutputWanted) {
	p := o.pilots[name]
	if p == nil {
		return nil
	}
	for key, is := range p.attempts {
		if now.Sub(is.read) > o.limits.Followed {
			continue
		}
		for i, s := range is.streams {
			if !s.ended {
				all = append(all, OutputWanted{Job: key.Job, Attempt: key.Attempt, Stream: streams[i], From: s.next})
			}
		}
	}
	return all
}

func (o *Outputs) pilotOf(name string) *pilot {
	p := o.pilots[name]
	if p == nil {
		p = &pilot{map[Key]*attempt{}, map[*wait]struct{}{}}
		o.pilots[name] = p
	}
	return p
}

// tidy forgets a pilot of which there is nothing.
func (o *Outputs) tidy(name string) {
	if p := o.pilots[name]; p != nil && len(p.attempts) == 0 && len(p.waits) == 0 {
		delete(o.pilots, name)
	}
}

// tell answers the waiting exchanges of a pilot. They are called beside, since they write to connections.
func (o *Outputs) tell(name string) {
	p := o.pilots[name]
	if p == nil {
		return
	}
	for w := range p.waits {
		o.forget(name, w)
		go w.told()
	}
}

func (o *Outputs) forget(name string, w *wait) bool {
	p := o.pilots[name]
	if p == nil {
		return false
	}
	_, ok := p.waits[w]
	delete(p.waits, w)
	o.tidy(name)
	return ok
}

// shrink drops the attempts that were read longest ago until the rest fits.
func (o *Outputs) shrink() {
	for o.size > o.limits.All {
		var oldest Key
		var at time.Time
		for key, is := range o.attempts {
			if at.IsZero() || is.read.Before(at) {
				oldest, at = key, is.read
			}
		}
		o.drop(oldest)
	}
}

// drop forgets an attempt. Its readers ask again, and find nothing or begin anew.
func (o *Outputs) drop(key Key) {
	is := o.attempts[key]
	for _, s := range is.streams {
		o.size -= len(s.data)
	}
	delete(o.attempts, key)
	if p := o.pilots[is.pilot]; p != nil {
		delete(p.attempts, key)
		o.tidy(is.pilot)
	}
	close(is.changed)
}

// Tend drops what was kept long enough, and answers exchanges whose time is over; all of them if this daemon does not
// lead: their pilots then ask the one that does. Call it every second or so.
func (o *Outputs) Tend(leads bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for key, is := range o.attempts {
		if now.Sub(is.read) > o.limits.Keep {
			o.drop(key)
		}
	}
	for name, p := range o.pilots {
		for w := range p.waits {
			if !leads || !w.until.After(now) {
				o.forget(name, w)
				go w.told()
			}
		}
	}
}

// Close answers all that wait, for the daemon stops. From then on nothing waits.
func (o *Outputs) Close() {
	o.stop()
	o.Tend(false)
}

// Open ends when the daemon stops.
func (o *Outputs) Open() context.Context { return o.open }

// Size returns how many bytes are kept, and of how many attempts.
func (o *Outputs) Size() (bytes, attempts int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size, len(o.attempts)
}
