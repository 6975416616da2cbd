package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// RawBase is added to the id of a piece's divvy job: its raw id.
const RawBase = 1_000_000_000_000

// ID is a job, a piece of an array, or a piece by its raw id.
type ID struct {
	Job   int64 // 0 with Raw
	Piece int64 // index in the array; -1 = all of the job
	Raw   int64 // id of a divvy job; 0 = not given so
}

// ParseID reads 12, 12_4, 1000000000017, and 12.batch, of which the step does not count.
func ParseID(text string) (ID, error) {
	wrong := fmt.Errorf("Invalid job id specified: %s", text)
	job, _, _ := strings.Cut(text, ".")
	job, piece, some := strings.Cut(job, "_")
	n, err := strconv.ParseInt(job, 10, 64)
	if err != nil || n < 1 {
		return ID{}, wrong
	}
	id := ID{Job: n, Piece: -1}
	switch {
	case n > RawBase:
		if some {
			return ID{}, wrong
		}
		return ID{Raw: n - RawBase, Piece: -1}, nil
	case some && piece != "*":
		if id.Piece, err = strconv.ParseInt(piece, 10, 64); err != nil || id.Piece < 0 {
			return ID{}, wrong
		}
	}
	return id, nil
}

// ParseIDs reads a list with commas. In 12_[1,3-5] the brackets hold pieces of one job.
func ParseIDs(text string) (all []ID, err error) {
	for text != "" {
		end := strings.IndexByte(text, ',')
		if open := strings.IndexByte(text, '['); open >= 0 && (end < 0 || open < end) {
			shut := strings.IndexByte(text, ']')
			if shut < open || open == 0 || text[open-1] != '_' {
				return nil, fmt.Errorf("Invalid job id specified: %s", text)
			}
			a, err := ParseArray(text[open+1 : shut])
			if err != nil {
				return nil, err
			}
			for i := range a.Len() {
				id, err := ParseID(text[:open] + strconv.FormatInt(a.ID(i), 10))
				if err != nil {
					return nil, err
				}
				all = append(all, id)
			}
			text = strings.TrimPrefix(text[shut+1:], ",")
			continue
		}
		one := text
		if end >= 0 {
			one, text = text[:end], text[end+1:]
		} else {
			text = ""
		}
		if one == "" {
			continue
		}
		id, err := ParseID(one)
		if err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	return all, nil
}
