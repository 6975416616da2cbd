package spec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine bounds a line of inputs: a name of maxInput bytes with every letter escaped.
const MaxLine = 8 * MaxInput

// ReadLines reads up to so many inputs; at is the position of the first, for messages. The error is what ended
// the chunk early; the inputs before it count.
func ReadLines(lines *bufio.Reader, at int64, most int) (inputs []Input, err error) {
	for len(inputs) < most {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return inputs, lineFault(at+int64(len(inputs)), fmt.Errorf("the line has more than %d bytes", MaxLine))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return inputs, err // the line may be cut
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			in, parseErr := readLine(line)
			if parseErr != nil {
				return inputs, lineFault(at+int64(len(inputs)), parseErr)
			}
			inputs = append(inputs, in)
		}
		if err != nil {
			return inputs, err
		}
	}
	return inputs, nil
}

func lineFault(position int64, err error) error {
	return Invalid(fmt.Sprintf("inputs[%d]", position), err.Error(),
		`one JSON string, or object with name, size, events and locations, a line`)
}

func readLine(line []byte) (in Input, err error) {
	if line[0] == '{' {
		err = in.UnmarshalJSON(line)
	} else {
		err = json.Unmarshal(line, &in.Name) // spares the look for an object in each of a million lines
	}
	if err != nil {
		return in, err
	}
	return in, in.check()
}

// Located says whether it is known where copies of it are.
func (in Input) Located() bool { return len(in.Locations) > 0 }
