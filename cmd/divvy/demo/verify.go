package demo

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
)

// verifyOutput reads one output and recomputes it from the input files.
func verifyOutput(file string) (Output, error) {
	var out Output
	b, err := os.ReadFile(file)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	want := Output{Activity: out.Activity, Folder: out.Folder, Archive: out.Archive}
	files, err := filesOf(out.Folder)
	if err != nil {
		return out, err
	}
	switch out.Activity {
	case Checksum:
		want.Digests = map[string]string{}
		err = each(files, &want, func(name string, b []byte) error { want.Digests[name] = digest(b); return nil })
	case Count:
		want.Counts = map[string]Counts{}
		err = each(files, &want, func(name string, b []byte) error { want.Counts[name] = count(b); return nil })
	case Compress:
		err = sameArchive(filepath.Join(filepath.Dir(file), out.Archive), files, &want)
	default:
		err = errors.New("unknown activity " + out.Activity)
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	if !reflect.DeepEqual(want, out) {
		return out, fmt.Errorf("%s does not agree with its input files", file)
	}
	return out, nil
}

// sameArchive unpacks an archive beside its input files and compares byte by byte.
func sameArchive(archive string, files []string, want *Output) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	err = each(files, want, func(name string, b []byte) error {
		got := make([]byte, len(b))
		if _, err := io.ReadFull(z, got); err != nil || !bytes.Equal(got, b) {
			return fmt.Errorf("archive differs from %s", name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n, err := z.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return errors.New("archive has more than its input files")
	}
	return nil
}
