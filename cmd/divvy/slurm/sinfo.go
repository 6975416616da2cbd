package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/slurm"
)

// queueRow is a queue as sinfo shows it.
type queueRow struct {
	name, state, limit, slots string
	cores, memory             string
	held                      int64
	pilots                    int
}

// queueRows are all queues, after the partition that stands for all of them.
func (c *command) queueRows(ctx context.Context) ([]queueRow, error) {
	queues, err := c.client.Queues().List(ctx)
	if err != nil {
		return nil, err
	}
	all := queueRow{name: slurm.Any, state: "down", limit: "infinite", slots: "0", cores: "0", memory: "0"}
	rows := []queueRow{all}
	for _, q := range queues {
		r := queueRow{name: q.Name, state: "down", limit: "infinite", slots: "0", cores: strconv.Itoa(q.Cores), held: q.HeldCores, pilots: q.Pilots,
			memory: strconv.FormatInt(q.MemoryMB*1_000_000>>20, 10)}
		if q.State == wire.QueueOnline {
			r.state, rows[0].state = "up", "up"
		}
		if q.WalltimeS > 0 {
			r.limit = slurm.FormatTime(time.Duration(q.WalltimeS) * time.Second)
		}
		if q.Slots != nil {
			r.slots = strconv.Itoa(*q.Slots)
		}
		rows[0].held, rows[0].pilots = rows[0].held+r.held, rows[0].pilots+r.pilots
		rows = append(rows, r)
	}
	return rows, nil
}

// sinfoLetters are the columns of sinfo -o.
var sinfoLetters = map[byte]struct {
	title string
	value func(queueRow) string
}{
	'P': {"PARTITION", func(r queueRow) string {
		if r.name == slurm.Any {
			return r.name + "*"
		}
		return r.name
	}},
	'R': {"PARTITION", func(r queueRow) string { return r.name }},
	'a': {"AVAIL", func(r queueRow) string { return r.state }},
	'l': {"TIMELIMIT", func(r queueRow) string { return r.limit }},
	'D': {"NODES", func(r queueRow) string { return strconv.Itoa(r.pilots) }},
	't': {"STATE", queueRow.nodes},
	'T': {"STATE", queueRow.nodes},
	'N': {"NODELIST", func(queueRow) string { return "" }},
	'c': {"CPUS", func(r queueRow) string { return r.cores }},
	'm': {"MEMORY", func(r queueRow) string { return r.memory }},
	'f': {"AVAIL_FEATURES", func(queueRow) string { return "(null)" }},
	'G': {"GRES", func(queueRow) string { return "(null)" }},
}

// nodes is the state of the nodes of a partition: its pilots.
func (r queueRow) nodes() string {
	switch {
	case r.pilots == 0:
		return "n/a"
	case r.held > 0:
		return "mix"
	}
	return "idle"
}

const sinfoFormat = "%9P %.5a %.10l %.6D %.6t %N"

// sinfo lists queues as partitions.
func sinfo(ctx context.Context, c *command) error {
	if c.given.Has("version") {
		fmt.Fprintf(c.Out, "slurm %s\n", version)
		return nil
	}
	format := sinfoFormat
	if c.given.Has("format") {
		format = c.given.Get("format")
	}
	rows, err := c.queueRows(ctx)
	if err != nil {
		return err
	}
	want := words(c.given.Get("partition"))
	rows = slices.DeleteFunc(rows, func(r queueRow) bool { return !among(want, r.name) })
	columns, err := slurm.ParseLetters(format, func(letter byte) (string, bool) {
		l, ok := sinfoLetters[letter]
		return l.title, ok
	})
	if err != nil {
		return err
	}
	line := func(cell func(letter byte) string) {
		var b strings.Builder
		for _, col := range columns {
			b.WriteString(col.Cell(cell))
		}
		fmt.Fprintln(c.Out, b.String())
	}
	if !c.given.Has("noheader") {
		line(func(letter byte) string { return sinfoLetters[letter].title })
	}
	for _, r := range rows {
		line(func(letter byte) string { return sinfoLetters[letter].value(r) })
	}
	return nil
}

// sacctmgr lists the accounts that a user may name: the shares that hold jobs.
func sacctmgr(ctx context.Context, c *command) error {
	args := c.given.Args
	if len(args) < 2 || args[0] != "list" && args[0] != "show" {
		return fmt.Errorf("%s is not known to divvy: list user, association, account and cluster are", strings.Join(args, " "))
	}
	what, fields := strings.ToLower(args[1]), "Account"
	if what == "cluster" || what == "clusters" {
		fields = "Cluster"
	}
	for _, arg := range args[2:] {
		if key, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix("format", strings.ToLower(key)) {
			fields = value
		}
	}
	switch what {
	case "cluster", "clusters":
		return c.accounts(fields, []string{""})
	case "user", "users", "association", "associations", "assoc", "account", "accounts":
		leaves, err := c.leaves(ctx)
		if err != nil {
			return err
		}
		return c.accounts(fields, leaves)
	}
	return fmt.Errorf("list %s is not known to divvy: user, association, account and cluster are", what)
}

// sshare lists the same accounts.
func sshare(ctx context.Context, c *command) error {
	leaves, err := c.leaves(ctx)
	if err != nil {
		return err
	}
	fields := "Account,User"
	if c.given.Has("format") {
		fields = c.given.Get("format")
	}
	return c.accounts(fields, leaves)
}

// accounts prints a line for each account. Of the fields it knows Account, User, Cluster and QOS.
func (c *command) accounts(fields string, names []string) error {
	columns, err := slurm.ParseAccountFormat(fields)
	if err != nil {
		return err
	}
	rows := make([]slurm.Row, len(names))
	for i, name := range names {
		rows[i].Who = slurm.Who{Account: name, User: caller()}
	}
	slurm.WriteAccount(c.Out, columns, rows, c.style())
	return nil
}
