package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"time"
)

// codec writes and reads the values of a type: numbers as varints, texts and lists behind their lengths, structs field by field. It has no names, so
// both sides need the same types: see form.
type codec struct {
	put func(to []byte, v reflect.Value) []byte
	get func(from *source, v reflect.Value)
}

// source is a text that is read. After an error all values are zero.
type source struct {
	text []byte
	err  error
}

var errCut = errors.New("the text is cut off")

func (s *source) uint() uint64 {
	n, size := binary.Uvarint(s.text)
	if size <= 0 {
		s.err, s.text = errCut, nil
		return 0
	}
	s.text = s.text[size:]
	return n
}

func (s *source) int() int64 {
	n := s.uint()
	return int64(n>>1) ^ -int64(n&1)
}

// length is that of a text or list, each of whose elements takes a byte at least.
func (s *source) length() int {
	n := s.uint()
	if n > uint64(len(s.text)) {
		s.err, s.text = errCut, nil
		return 0
	}
	return int(n)
}

func (s *source) bytes(n int) []byte {
	if n > len(s.text) {
		s.err, s.text = errCut, nil
		return nil
	}
	b := s.text[:n]
	s.text = s.text[n:]
	return b
}

func putInt(to []byte, n int64) []byte { return binary.AppendUvarint(to, uint64(n<<1)^uint64(n>>63)) }

// codecs makes the codecs of a type and of all that are in it, and describes them.
type codecs struct {
	made map[reflect.Type]*codec
	form []byte
}

var (
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)

// of is the codec of a type. The types of messages are few and fixed; a type without a codec is a programming error.
func (cs *codecs) of(t reflect.Type) *codec {
	if c := cs.made[t]; c != nil {
		cs.form = fmt.Appendf(cs.form, "%s;", t)
		return c
	}
	c := &codec{}
	cs.made[t] = c // also for a type that has itself in it
	cs.form = fmt.Appendf(cs.form, "%s %s{", t, t.Kind())
	switch {
	case t == timeType:
		c.put, c.get = putTime, getTime
	case t == bytesType:
		c.put = func(to []byte, v reflect.Value) []byte {
			return append(binary.AppendUvarint(to, uint64(v.Len())), v.Bytes()...)
		}
		c.get = func(from *source, v reflect.Value) {
			if b := from.bytes(from.length()); len(b) > 0 { // a text that is not there is nil, which is no empty text
				v.SetBytes(slices.Clone(b))
			}
		}
	default:
		cs.fill(c, t)
	}
	cs.form = append(cs.form, '}')
	return c
}

func putTime(to []byte, v reflect.Value) []byte {
	at := v.Interface().(time.Time)
	if at.IsZero() {
		return append(to, 0)
	}
	return putInt(append(to, 1), at.UnixNano())
}

func getTime(from *source, v reflect.Value) {
	if from.uint() > 0 {
		v.Set(reflect.ValueOf(time.Unix(0, from.int()).UTC()))
	}
}

func (cs *codecs) fill(c *codec, t reflect.Type) {
	switch t.Kind() {
	case reflect.Bool:
		c.put = func(to []byte, v reflect.Value) []byte {
			if v.Bool() {
				return append(to, 1)
			}
			return append(to, 0)
		}
		c.get = func(from *source, v reflect.Value) { v.SetBool(from.uint() > 0) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		c.put = func(to []byte, v reflect.Value) []byte { return putInt(to, v.Int()) }
		c.get = func(from *source, v reflect.Value) { v.SetInt(from.int()) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		c.put = func(to []byte, v reflect.Value) []byte { return binary.AppendUvarint(to, v.Uint()) }
		c.get = func(from *source, v reflect.Value) { v.SetUint(from.uint()) }
	case reflect.String:
		c.put = func(to []byte, v reflect.Value) []byte {
			return append(binary.AppendUvarint(to, uint64(v.Len())), v.String()...)
		}
		c.get = func(from *source, v reflect.Value) { v.SetString(string(from.bytes(from.length()))) }
	case reflect.Array: // of bytes
		if t.Elem().Kind() != reflect.Uint8 {
			panic(fmt.Sprintf("%s: no message has such a field", t))
		}
		c.put = func(to []byte, v reflect.Value) []byte {
			at := len(to)
			to = append(to, make([]byte, v.Len())...)
			reflect.Copy(reflect.ValueOf(to[at:]), v)
			return to
		}
		c.get = func(from *source, v reflect.Value) { reflect.Copy(v, reflect.ValueOf(from.bytes(v.Len()))) }
	case reflect.Struct:
		cs.structOf(c, t)
	default:
		cs.several(c, t)
	}
}

// structOf is about the fields that other packages see.
func (cs *codecs) structOf(c *codec, t reflect.Type) {
	type field struct {
		at int
		*codec
	}
	var fields []field
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() || f.Anonymous {
			cs.form = append(append(cs.form, f.Name...), ' ')
			fields = append(fields, field{i, cs.of(f.Type)})
		}
	}
	c.put = func(to []byte, v reflect.Value) []byte {
		for _, f := range fields {
			to = f.put(to, v.Field(f.at))
		}
		return to
	}
	c.get = func(from *source, v reflect.Value) {
		for _, f := range fields {
			f.get(from, v.Field(f.at))
		}
	}
}

// several is about lists, maps and pointers.
func (cs *codecs) several(c *codec, t reflect.Type) {
	each := cs.of(t.Elem())
	switch t.Kind() {
	case reflect.Pointer:
		c.put = func(to []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(to, 0)
			}
			return each.put(append(to, 1), v.Elem())
		}
		c.get = func(from *source, v reflect.Value) {
			if from.uint() > 0 {
				v.Set(reflect.New(t.Elem()))
				each.get(from, v.Elem())
			}
		}
	case reflect.Slice:
		c.put = func(to []byte, v reflect.Value) []byte {
			to = binary.AppendUvarint(to, uint64(v.Len()))
			for i := range v.Len() {
				to = each.put(to, v.Index(i))
			}
			return to
		}
		c.get = func(from *source, v reflect.Value) {
			n := from.length()
			if n == 0 {
				return
			}
			v.Set(reflect.MakeSlice(t, n, n))
			for i := 0; i < n && from.err == nil; i++ {
				each.get(from, v.Index(i))
			}
		}
	case reflect.Map:
		key := cs.of(t.Key())
		c.put = func(to []byte, v reflect.Value) []byte {
			to = binary.AppendUvarint(to, uint64(v.Len()))
			for all := v.MapRange(); all.Next(); {
				to = each.put(key.put(to, all.Key()), all.Value())
			}
			return to
		}
		c.get = func(from *source, v reflect.Value) {
			n := from.length()
			if n == 0 {
				return
			}
			v.Set(reflect.MakeMapWithSize(t, n))
			for i := 0; i < n && from.err == nil; i++ {
				k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
				key.get(from, k)
				each.get(from, e)
				v.SetMapIndex(k, e)
			}
		}
	default:
		panic(fmt.Sprintf("%s: no message has such a field", t))
	}
}

// envelopes is the codec of envelopes, and form what tells whether another daemon has the same one.
var envelopes, form = func() (*codec, [8]byte) {
	cs := &codecs{made: map[reflect.Type]*codec{}}
	c := cs.of(reflect.TypeFor[envelope]())
	h := fnv.New64a()
	_, _ = h.Write(cs.form)
	return c, [8]byte(h.Sum(nil))
}()
