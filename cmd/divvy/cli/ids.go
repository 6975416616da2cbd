package cli

import (
	"strconv"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// ParseID reads the id of what a command is about.
func ParseID(what, s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 {
		return 0, fail.Usagef("%q is not the id of a %s: expected a whole number such as 17; 'divvy %s list' has them", s, what, what)
	}
	return id, nil
}

// ParseIDs reads several ids.
func ParseIDs(what string, args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, s := range args {
		id, err := ParseID(what, s)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}
