package work

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// look is what was seen at a time.
type look struct {
	at       time.Time
	status   wire.Status
	standing wire.Standing
	queues   []wire.QueueStanding
	figures  map[string]float64
	err      error
}

func lookAround(ctx context.Context, cl *client.Client) (l look, err error) {
	l.at = time.Now()
	if l.status, err = cl.Daemon().Status(ctx); err != nil {
		return l, err
	}
	if l.standing, err = cl.Shares().Standing(ctx); err != nil {
		return l, err
	}
	if l.queues, err = cl.Queues().List(ctx); err != nil {
		return l, err
	}
	l.figures, err = cl.Daemon().Figures(ctx)
	return l, err
}

// rates are of things a second between two looks.
type rates struct {
	Started, Ended, Lost, Made float64
}

// What the view shows.
const (
	showBoth = iota
	showShares
	showQueues
	nShows
)

// topView is the picture of divvy top, and what keys have made of it.
type topView struct {
	URL    string
	colour bool
	all    bool // nothing is left out

	last   look
	rates  *rates // nil: there was one look only
	shows  int
	scroll int
	busy   bool // those with most to do first
	held   bool
	away   error
}

// take is a new look. While the picture is held, or the daemon is away, the old one stays.
func (v *topView) take(l look) {
	if v.away = l.err; l.err != nil || v.held {
		return
	}
	if before := v.last; !before.at.IsZero() {
		gone := l.at.Sub(before.at).Seconds()
		rate := func(name string) float64 {
			if gone <= 0 {
				return 0
			}
			return max(0, l.figures[name]-before.figures[name]) / gone // a daemon that was started anew counts from 0
		}
		v.rates = &rates{Started: rate("divvy_grant_batch_jobs_sum"), Ended: rate("divvy_attempts_ended_total"),
			Lost: rate("divvy_leases_expired_total"), Made: rate("divvy_jobs_generated_total")}
	}
	v.last = l
}

// press is a key; true ends the view.
func (v *topView) press(key string) (quit bool) {
	switch key {
	case "q", "Q", "\x03", "\x04":
		return true
	case "\t":
		v.shows, v.scroll = (v.shows+1)%nShows, 0
	case " ":
		v.held = !v.held
	case "d":
		v.busy = !v.busy
	case "j", "\x1b[B", "\x1bOB":
		v.scroll++
	case "k", "\x1b[A", "\x1bOA":
		v.scroll--
	case "\x1b[6~":
		v.scroll += 10
	case "\x1b[5~":
		v.scroll -= 10
	case "\x1b[H", "g":
		v.scroll = 0
	}
	v.scroll = max(0, v.scroll)
	return false
}

// draw is the picture in lines of at most width; height 0 is as many as there are.
func (v *topView) draw(width, height int) []string {
	lines := v.head()
	var shares, queues []string
	if v.shows != showQueues {
		shares = v.shareLines(width)
	}
	if v.shows != showShares {
		queues = v.queueLines()
	}
	if height > 0 {
		room := height - len(lines) - 1 // the keys
		if len(shares) > 0 && len(queues) > 0 {
			forQueues := min(len(queues), max(room/3, room-len(shares)-1))
			queues = part(queues, forQueues, 0)
			shares = part(shares, room-forQueues-1, v.scroll)
		} else {
			shares, queues = part(shares, room, v.scroll), part(queues, room, v.scroll)
		}
	}
	lines = append(lines, shares...)
	if len(shares) > 0 && len(queues) > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, queues...)
	if height > 0 {
		for len(lines) < height-1 {
			lines = append(lines, "")
		}
		lines = append(lines[:height-1], show.Pick(v.held, "HELD  ", "")+"q quit  Tab shares/queues  ↑↓ scroll  space hold  d most to do first")
	}
	for i := range lines {
		lines[i] = cut(lines[i], width)
	}
	return lines
}

func (v *topView) head() []string {
	s := v.last.status
	state := "up " + show.Age(v.last.at, s.StartedAt)
	switch {
	case v.away != nil:
		state = "AWAY, last seen " + v.last.at.Format(time.TimeOnly)
	case !s.Ready:
		state = "NOT READY: " + s.Reason
	}
	second := fmt.Sprintf("jobs: %d leased, %d ready; %d pulls wait; queues: %d online of %d", s.HeldJobs, s.ReadyJobs, s.Waiting, s.Queues.Online, len(v.last.queues))
	third := "a second: …"
	if r := v.rates; r != nil {
		third = fmt.Sprintf("a second: %.1f started, %.1f ended, %.1f lost, %.1f made", r.Started, r.Ended, r.Lost, r.Made)
	}
	return []string{
		fmt.Sprintf("divvy %s  %s  site %d  %s", v.last.at.Local().Format(time.TimeOnly), v.URL, s.Site, state),
		second, third, "",
	}
}

// shareLines are the tree of each pool, with a head.
func (v *topView) shareLines(width int) (lines []string) {
	bars := max(10, min(40, width-58))
	for _, p := range v.last.standing.Pools {
		lines = append(lines, fmt.Sprintf("%-24s %8s %8s %8s  %s", cut("POOL "+p.Pool, 24), "TARGET", "HELD", "READY", "held █ target ░"))
		list, full := p.Shares, p.Round
		depths := make([]int, len(list))
		for i := range list {
			depths[i] = list[i].Depth
		}
		prefixes := show.Branches(depths)
		if v.busy {
			list = slices.DeleteFunc(slices.Clone(list), func(s wire.ShareStanding) bool { return !s.Leaf })
			slices.SortStableFunc(list, func(a, b wire.ShareStanding) int { return int(b.Deficit*1000) - int(a.Deficit*1000) })
			full = 0
			for _, s := range list {
				full = max(full, s.Target, s.Held)
			}
		}
		for i, s := range list {
			name := prefixes[i] + shareName(s)
			if v.busy {
				name = s.Path
			}
			line := fmt.Sprintf("%s %8s %8s %8d  %s", pad(name, 24), show.Units(s.Target), show.Units(s.Held), s.Ready, show.Bar(s.Held, s.Target, full, bars))
			if v.colour && s.Deficit >= 1 && s.Ready > 0 {
				line = text.FgYellow.Sprint(line)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func (v *topView) queueLines() []string {
	lines := []string{fmt.Sprintf("%-24s %-8s %8s %8s %8s %8s %8s", "QUEUE", "STATE", "SLOTS", "CORES", "READY", "PILOTS", "WAITING")}
	queues := slices.Clone(v.last.queues)
	if v.busy {
		slices.SortStableFunc(queues, func(a, b wire.QueueStanding) int { return int(b.Ready - a.Ready) })
	}
	for _, q := range queues {
		state := string(q.State)
		if q.BlackHole != nil {
			state = "HOLE"
		}
		line := fmt.Sprintf("%s %-8s %8s %8d %8d %8d %8d", pad(q.Name, 24), state, show.Slots(q.Slots), q.HeldCores, q.Ready, q.Pilots, q.Waiting)
		if v.colour && (q.BlackHole != nil || q.State != "online") {
			line = text.FgYellow.Sprint(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// part is the head of a table and as many of its lines as there is room for, from an offset; the last one says how many more there
// are.
func part(lines []string, room, from int) []string {
	if len(lines) <= room || len(lines) == 0 {
		return lines
	}
	room = max(room, 2)
	from = min(from, len(lines)-room)
	shown := slices.Concat(lines[:1], lines[1+from:from+room])
	if left := len(lines) - from - room; left > 0 {
		shown[len(shown)-1] = fmt.Sprintf("… %d more", left+1)
	}
	return shown
}

// pad is a name of exactly width cells.
func pad(name string, width int) string {
	name = cut(name, width)
	return name + strings.Repeat(" ", max(0, width-text.StringWidthWithoutEscSequences(name)))
}

// cut is a line of at most width cells.
func cut(line string, width int) string {
	if width <= 0 || text.StringWidthWithoutEscSequences(line) <= width {
		return line
	}
	return text.Trim(line, width-1) + "…" + show.Pick(strings.Contains(line, "\x1b["), "\x1b[0m", "")
}

// TopSummary is the picture for programs.
type TopSummary struct {
	At     time.Time            `json:"at"`
	Status wire.Status          `json:"status"`
	Rates  *rates               `json:"rates_per_second"`
	Pools  wire.Standing        `json:"shares"`
	Queues []wire.QueueStanding `json:"queues"`
}

func (v *topView) summary() TopSummary {
	return TopSummary{v.last.at.UTC(), v.last.status, v.rates, v.last.standing, v.last.queues}
}
