package live

// stream is the end of what one stream of an attempt had, as far as it was sent.
type stream struct {
	data  []byte
	start int64 // offset of data[0]
	next  int64 // wanted: the first byte after data, or -n for the last n bytes while there are none
	floor int64 // bytes before it cannot be had any more
	ended bool
}

// want makes the stream begin at from if that is before what it has, and can still be had. It is true if that changed
// what is wanted.
func (s *stream) want(from int64, fresh bool) bool {
	switch {
	case fresh, s.next < 0 && from >= 0 && !s.ended: // nothing came yet
		s.next, s.start = from, max(0, from)
		return true
	case s.ended || from < 0:
		return false
	case from >= s.start || s.start <= s.floor:
		return false
	}
	s.data, s.start, s.next = nil, max(from, s.floor), max(from, s.floor)
	return true
}

// put takes a chunk that answers what is wanted; false: it does not. It returns by how many bytes the stream has grown.
func (s *stream) put(c OutputChunk, most int) (grown int, ok bool) {
	if s.ended || c.Wanted != s.next || c.Offset < 0 || s.next >= 0 && c.Offset < s.next {
		return 0, false
	}
	before := len(s.data)
	if c.Offset != s.next {
		if s.next >= 0 {
			s.floor = c.Offset
		}
		s.data, s.start = nil, c.Offset
	}
	s.data = append(s.data, c.Data...)
	if over := len(s.data) - most; over > 0 {
		s.data = append(s.data[:0], s.data[over:]...)
		s.start += int64(over)
		s.floor = s.start
	}
	s.next = s.start + int64(len(s.data))
	if s.ended = c.End; s.ended {
		s.floor = s.start
	}
	return len(s.data) - before, true
}

// from returns what there is from an offset on, at most so many bytes, and where that begins.
func (s *stream) from(offset int64, most int) (data []byte, at int64) {
	end := s.start + int64(len(s.data))
	switch {
	case offset < 0:
		offset = max(s.start, end+offset)
	case offset < s.start && offset < s.floor:
		offset = max(s.start, s.floor)
	}
	if offset < s.start || offset >= end { // not yet
		return nil, offset
	}
	data = s.data[offset-s.start:]
	return data[:min(len(data), most)], offset
}
