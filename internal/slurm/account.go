package slurm

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// accountFields are the columns of sacct --format.
var accountFields = []struct {
	title string
	width int
	value func(*Row) string
}{
	{"JobID", 12, (*Row).ID},
	{"JobIDRaw", 12, (*Row).RawID},
	{"JobName", 10, func(r *Row) string { return r.Who.Name }},
	{"Partition", 10, func(r *Row) string { return r.Who.Partition }},
	{"Account", 10, func(r *Row) string { return r.Who.Account }},
	{"AllocCPUS", 10, func(r *Row) string { return strconv.Itoa(r.allocated()) }},
	{"NCPUS", 10, func(r *Row) string { return strconv.Itoa(r.Size.CPUs) }},
	{"ReqCPUS", 8, func(r *Row) string { return strconv.Itoa(r.Size.CPUs) }},
	{"State", 10, func(r *Row) string { return string(r.State) }},
	{"ExitCode", 8, func(r *Row) string { return fmt.Sprintf("%d:%d", r.Ended.Code, r.Ended.Signal) }},
	{"DerivedExitCode", 15, func(r *Row) string { return fmt.Sprintf("%d:%d", r.Ended.Code, r.Ended.Signal) }},
	{"Elapsed", 10, func(r *Row) string { return FormatElapsed(r.Elapsed()) }},
	{"ElapsedRaw", 10, func(r *Row) string { return seconds(r.Elapsed()) }},
	{"CPUTime", 10, func(r *Row) string { return FormatElapsed(r.Elapsed() * time.Duration(r.Size.CPUs)) }},
	{"CPUTimeRAW", 10, func(r *Row) string { return seconds(r.Elapsed() * time.Duration(r.Size.CPUs)) }},
	{"TotalCPU", 10, func(r *Row) string {
		return FormatElapsed(time.Duration(r.Size.UsedCPUSeconds * float64(time.Second)))
	}},
	{"Submit", 19, func(r *Row) string { return moment(r.At.Submit, "Unknown") }},
	{"Eligible", 19, func(r *Row) string { return moment(r.At.Submit, "Unknown") }},
	{"Start", 19, func(r *Row) string { return moment(r.At.Start, "Unknown") }},
	{"End", 19, func(r *Row) string { return moment(r.At.End, "Unknown") }},
	{"Timelimit", 10, func(r *Row) string { return r.limit(FormatElapsed) }},
	{"TimelimitRaw", 12, func(r *Row) string {
		return r.limit(func(d time.Duration) string { return strconv.FormatInt(int64(d/time.Minute), 10) })
	}},
	{"User", 9, func(r *Row) string { return r.Who.User }},
	{"NodeList", 15, func(r *Row) string {
		if r.Node == "" {
			return "None assigned"
		}
		return r.Node
	}},
	{"NNodes", 8, func(*Row) string { return "1" }},
	{"AllocNodes", 10, func(r *Row) string { return strconv.Itoa(min(1, r.allocated())) }},
	{"ReqMem", 10, func(r *Row) string { return memory(r.Size.MemoryMB) }},
	{"MaxRSS", 10, func(r *Row) string {
		if r.Size.UsedMB == 0 {
			return ""
		}
		return strconv.FormatInt(r.Size.UsedMB*1_000_000>>10, 10) + "K"
	}},
	{"Reason", 22, (*Row).reason},
	{"Priority", 10, func(r *Row) string { return strconv.Itoa(r.Who.Priority) }},
	{"Comment", 14, func(r *Row) string { return r.Who.Comment }},
	{"WorkDir", 20, func(r *Row) string { return r.Who.Dir }},
	{"QOS", 10, func(*Row) string { return "normal" }},
	{"Cluster", 10, func(*Row) string { return "divvy" }},
}

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

// allocated is how many cores a job has, or had.
func (r *Row) allocated() int {
	if r.State == Pending {
		return 0
	}
	return r.Size.CPUs
}

// AccountFormat is that of sacct without --format.
const AccountFormat = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"

// ParseAccountFormat reads a list of fields with widths, such as JobIDRaw%20,State. A minus before the width is for the left.
func ParseAccountFormat(format string) (all []Column, err error) {
	for part := range strings.SplitSeq(format, ",") {
		name, width, wide := strings.Cut(part, "%")
		c := Column{}
		for _, f := range accountFields {
			if strings.EqualFold(f.title, name) {
				c = Column{Title: f.title, Width: f.width, value: f.value}
			}
		}
		if c.Title == "" {
			return nil, fmt.Errorf("Invalid field requested: %q", name)
		}
		if wide {
			digits, left := strings.CutPrefix(width, "-")
			n, err := strconv.ParseUint(digits, 10, 14)
			if err != nil {
				return nil, fmt.Errorf("Invalid width of field %s: %q", name, width)
			}
			c.Left = left
			if n > 0 {
				c.Width = int(n)
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// Style is how sacct, sacctmgr and sshare separate columns.
type Style struct {
	Header    bool
	Delimiter string // empty = columns of fixed width
	Behind    bool   // a delimiter stands behind the last column too
}

// WriteAccount prints rows as sacct does.
func WriteAccount(w io.Writer, columns []Column, rows []Row, s Style) {
	if s.Header {
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = c.Title
		}
		s.Line(w, columns, cells)
		if s.Delimiter == "" {
			for i, c := range columns {
				cells[i] = strings.Repeat("-", c.Width)
			}
			s.Line(w, columns, cells)
		}
	}
	for i := range rows {
		cells := make([]string, len(columns))
		for k, c := range columns {
			cells[k] = c.value(&rows[i])
		}
		s.Line(w, columns, cells)
	}
}

// Line prints the cells of one row.
func (s Style) Line(w io.Writer, columns []Column, cells []string) {
	var b strings.Builder
	for i, c := range columns {
		if s.Delimiter == "" {
			if c.Title == "Account" && len(cells[i]) > c.Width { // a cut account would be another one
				c.Width = 0
			}
			b.WriteString(c.fit(cells[i], "+") + " ")
			continue
		}
		if i > 0 {
			b.WriteString(s.Delimiter)
		}
		b.WriteString(cells[i])
	}
	if s.Behind {
		b.WriteString(s.Delimiter)
	}
	_, _ = io.WriteString(w, b.String()+"\n")
}
