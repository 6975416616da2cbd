package pilots

import (
	"bytes"
	"encoding/json"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// The requests of pilots, read by hand. Each function is true when the body was read; false says nothing about the
// body but that encoding/json must see it: an unknown field, one that comes twice, another spelling, a wrong type.

// once refuses a field that comes twice: encoding/json merges the two in ways that are its own.
type once uint32

func (o *once) first(field int) bool {
	bit := once(1) << field
	was := *o & bit
	*o |= bit
	return was == 0
}

func readPull(body []byte, req *dispatcher.PullRequest) bool {
	s := newScan(body)
	var seen once
	s.object(func(key []byte) {
		field := 0
		switch string(key) {
		case "queue":
			s.text(&req.Queue)
		case "pilot":
			field = 1
			s.text(&req.Pilot)
		case "node":
			field = 2
			s.text(&req.Node)
		case "devices":
			field = 3
			s.texts(&req.Devices)
		case "slot":
			field = 4
			s.slot(&req.Slot)
		case "max":
			field = 5
			s.small(&req.Max)
		case "wait_s":
			field = 6
			s.float(&req.WaitS)
		case "request_id":
			field = 7
			s.text(&req.RequestID)
		case "only":
			field = 8
			s.only(&req.Only)
		default:
			s.bad = true
		}
		s.bad = s.bad || !seen.first(field)
	})
	return s.end()
}

func (s *scan) slot(slot *job.Slot) {
	if s.null() || s.bad {
		return
	}
	var seen once
	s.object(func(key []byte) {
		field := 0
		switch string(key) {
		case "cores":
			s.small(&slot.Cores)
		case "memory_mb":
			field = 1
			s.integer(&slot.MemoryMB)
		case "disk_mb":
			field = 2
			s.integer(&slot.DiskMB)
		case "walltime_s":
			field = 3
			s.integer(&slot.WalltimeS)
		case "labels":
			field = 4
			s.labels(&slot.Labels)
		default:
			s.bad = true
		}
		s.bad = s.bad || !seen.first(field)
	})
}

func (s *scan) only(o *job.Only) {
	if s.null() || s.bad {
		return
	}
	var seen once
	s.object(func(key []byte) {
		field := 0
		switch string(key) {
		case "labels":
			s.texts(&o.Labels)
		case "task":
			field = 1
			s.integer(&o.Task)
		case "user":
			field = 2
			s.text(&o.User)
		default:
			s.bad = true
		}
		s.bad = s.bad || !seen.first(field)
	})
}

// texts is a list of strings without a null in it.
func (s *scan) texts(into *[]string) {
	if s.null() || s.bad {
		return
	}
	out := []string{}
	s.list(func() {
		var text string
		s.bad = s.bad || s.next() != '"'
		s.text(&text)
		out = append(out, text)
	})
	*into = out
}

// labels is an object of strings without a null in it.
func (s *scan) labels(into *map[string]string) {
	if s.null() || s.bad {
		return
	}
	out := map[string]string{}
	s.object(func(key []byte) {
		var text string
		s.bad = s.next() != '"'
		s.text(&text)
		out[string(key)] = text
	})
	*into = out
}

func (s *scan) usage(u *dispatcher.Usage) {
	if s.null() || s.bad {
		return
	}
	var seen once
	s.object(func(key []byte) {
		field := 0
		switch string(key) {
		case "cpu_s":
			s.float(&u.CPUSeconds)
		case "memory_mb":
			field = 1
			s.integer(&u.MemoryMB)
		default:
			s.bad = true
		}
		s.bad = s.bad || !seen.first(field)
	})
}

func readRenew(body []byte, req *dispatcher.RenewRequest) bool {
	s := newScan(body)
	var seen once
	s.object(func(key []byte) {
		field := 0
		switch string(key) {
		case "pilot":
			s.text(&req.Pilot)
		case "leases":
			field = 1
			if s.null() || s.bad {
				break
			}
			req.Leases = make([]dispatcher.Renewal, 0, s.items())
			s.list(func() {
				req.Leases = append(req.Leases, dispatcher.Renewal{})
				s.renewal(&req.Leases[len(req.Leases)-1])
			})
		default:
			s.bad = true
		}
		s.bad = s.bad || !seen.first(field)
	})
	return s.end()
}

// items is about how many leases the list that comes has.
func (s *scan) items() int { return min(MaxItems, bytes.Count(s.in[s.at:], []byte(`"lease":`))) }

func (s *scan) renewal(l *dispatcher.Renewal) {
	if s.null() || s.bad {
		return
	}
	var seen once
	s.object(func(key []byte) {
		field := 0
		switch string(key) {
		case "lease":
			s.text(&l.Lease)
		case "state":
			field = 1
			s.text((*string)(&l.State))
		case "usage":
			field = 2
			s.usage(&l.Usage)
		case "report":
			field = 3
			s.anything(&l.Report)
		default:
			s.bad = true
		}
		s.bad = s.bad || !seen.first(field)
	})
}

func readFinish(body []byte, req *dispatcher.FinishRequest) bool {
	s := newScan(body)
	var seen once
	s.object(func(key []byte) {
		field := 0
		switch string(key) {
		case "pilot":
			s.text(&req.Pilot)
		case "results":
			field = 1
			if s.null() || s.bad {
				break
			}
			n := s.items()
			codes := make([]int, 0, n)
			req.Results = make([]dispatcher.Result, 0, n)
			s.list(func() {
				req.Results = append(req.Results, dispatcher.Result{})
				s.result(&req.Results[len(req.Results)-1], &codes)
			})
		default:
			s.bad = true
		}
		s.bad = s.bad || !seen.first(field)
	})
	return s.end()
}

// result is one line of a finish. codes are where the exit codes of all lines stand; pointers into it stay good when
// it grows, since the old array stays.
func (s *scan) result(l *dispatcher.Result, codes *[]int) {
	if s.null() || s.bad {
		return
	}
	var seen once
	s.object(func(key []byte) {
		field := 0
		switch string(key) {
		case "lease":
			s.text(&l.Lease)
		case "outcome":
			field = 1
			s.text((*string)(&l.Outcome))
		case "exit_code":
			field = 2
			if s.null() || s.bad {
				break
			}
			*codes = append(*codes, 0)
			l.ExitCode = &(*codes)[len(*codes)-1]
			s.small(l.ExitCode)
		case "message":
			field = 3
			s.text(&l.Message)
		case "usage":
			field = 4
			s.usage(&l.Usage)
		case "outputs":
			field = 5
			s.anything(&l.Outputs)
		case "log_tail":
			field = 6
			s.text(&l.LogTail)
		case "report":
			field = 7
			s.anything(&l.Report)
		default:
			s.bad = true
		}
		s.bad = s.bad || !seen.first(field)
	})
}

// anything is an object of anything: that is encoding/json's work.
func (s *scan) anything(into *map[string]any) {
	if s.null() || s.bad {
		return
	}
	if s.next() != '{' {
		s.bad = true
		return
	}
	text := s.skip()
	var out map[string]any
	s.bad = s.bad || json.Unmarshal(text, &out) != nil
	*into = out
}
