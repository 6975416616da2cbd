package pandashares

import (
	"fmt"
	"slices"
	"strings"
)

// switches are the columns that tables switch shares off with, and what they hold of a share that is off.
var switches = map[string]bool{"enabled": false, "isenabled": false, "active": false, "isactive": false, "disabled": true, "isdisabled": true}

// throttled is the column of shares that PanDA makes no more jobs for.
const throttled = "throttled"

// yes reads a cell that says yes or no; an empty one says what is usual.
func (f *faults) yes(c cell, column string, usual bool) bool {
	switch text := strings.ToLower(c.text); {
	case text == "":
		return usual
	case slices.Contains([]string{"y", "yes", "t", "true", "1", "on"}, text):
		return true
	case slices.Contains([]string{"n", "no", "f", "false", "0", "off"}, text):
		return false
	}
	f.add(c.at, fmt.Sprintf("%s: %q is neither yes nor no", strings.ToUpper(column), c.text), "Y or N")
	return usual
}

// leaveOut takes away the rows that are switched off, and remembers them by name.
func (f *faults) leaveOut(rows []row) (on []row) {
	f.off = map[string]int{}
	for _, r := range rows {
		isOff := false
		_ = f.yes(r.cell(throttled), throttled, false) // what is wrong there is told with all else
		for column, off := range switches {
			isOff = f.yes(r.cell(column), column, !off) == off || isOff
		}
		if name := r.cell("name").text; isOff && name != "" {
			f.off[name] = r.at.line
			continue
		}
		on = append(on, r)
	}
	return on
}
