package lease

import (
	"slices"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/tally"
)

// desk has what leaves with a step.
type desk struct {
	now  time.Duration // of this step
	out  []Effect
	post map[int64]*Message
	to   []int64 // daemons in post, in order: the same events have the same effects
	wake time.Duration

	news     []entry.Batch // that other daemons are still to be told of
	spreadAt time.Duration // when they were last told of some

	counted tally.Tally // what is only looked at from outside
	granted int         // jobs, in this step
	renewed int         // leases, in this step
}

func (d *desk) emit(e Effect) { d.out = append(d.out, e) }

// letter is the message that this step sends to a daemon.
func (d *desk) letter(to int64) *Message {
	m := d.post[to]
	if m == nil {
		m = &Message{}
		d.post[to], d.to = m, append(d.to, to)
	}
	return m
}

// answer answers a call, of this daemon or of another one.
func (d *desk) answer(call Call, a Answer) {
	if a.Call = call; call.Daemon == 0 {
		d.emit(Reply{a})
		return
	}
	m := d.letter(call.Daemon)
	m.Answers = append(m.Answers, a)
}

// push tells other daemons of a batch, once spread does.
func (d *desk) push(b entry.Batch) { d.news = append(d.news, b) }

// spread tells them of what is new when pause has passed since they were last told: many batches that are applied together cost them much less
// than as many messages. Answers do not wait, and bring the batches on which they rest: who was answered finds what he was told.
func (d *desk) spread(to []int64, pause time.Duration) {
	answers := slices.ContainsFunc(d.to, func(to int64) bool { return len(d.post[to].Answers) > 0 })
	switch due := d.spreadAt + pause; {
	case len(d.news) == 0:
		return
	case d.now < due && !answers:
		d.wakeBy(due)
		return
	}
	for _, to := range to {
		m := d.letter(to)
		m.Batches = append(m.Batches, d.news...)
	}
	d.news, d.spreadAt = nil, d.now
}

// wakeBy asks for a step at a time, or before.
func (d *desk) wakeBy(at time.Duration) { d.wake = min(d.wake, at) }

// begin starts a step.
func (d *desk) begin(now time.Duration) {
	d.now, d.out, d.wake, d.granted, d.renewed = now, nil, now+time.Second, 0, 0
}

// end returns all that the step wants done.
func (d *desk) end() []Effect {
	for _, to := range d.to {
		if m := d.post[to]; !m.empty() {
			d.emit(Send{to, *m})
		}
	}
	if d.renewed > 0 {
		d.counted.Renew(d.renewed)
	}
	clear(d.post)
	d.to = d.to[:0]
	d.emit(Wake{max(d.wake, d.now)})
	return slices.Clip(d.out)
}
