package demo

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// The activities of the demo: what a job does with the files of its folder.
const (
	Checksum = "sha256" // one digest a file
	Compress = "gzip"   // one archive of the folder
	Count    = "words"  // lines, words and bytes of each file
)

// Payload is one job of the demo, run as a process of its own: 'divvy payload'.
type Payload struct {
	Activity string
	Folder   string        // of the input files
	Out      string        // file that gets the Output, written whole or not at all
	AtLeast  time.Duration // a job that is done sooner naps until then
}

// Output is what a job leaves behind.
type Output struct {
	Activity string            `json:"activity"`
	Folder   string            `json:"folder"`
	Digests  map[string]string `json:"digests,omitempty"` // file → sha256
	Counts   map[string]Counts `json:"counts,omitempty"`  // file → lines, words, bytes
	Archive  string            `json:"archive,omitempty"` // name of the .gz beside the output
	Files    int               `json:"files"`
	Bytes    int64             `json:"bytes"`
}

// Counts are those of wc.
type Counts struct {
	Lines int64 `json:"lines"`
	Words int64 `json:"words"`
	Bytes int64 `json:"bytes"`
}

// Run does the work and naps for what is left of AtLeast.
func (p Payload) Run(ctx context.Context) error {
	nap := time.NewTimer(p.AtLeast)
	defer nap.Stop()
	out, err := p.work()
	if err != nil {
		return fmt.Errorf("%s of %s: %w", p.Activity, p.Folder, err)
	}
	b, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-nap.C:
	}
	return writeWhole(p.Out, func(w io.Writer) error { _, err := w.Write(b); return err })
}

func (p Payload) work() (Output, error) {
	out := Output{Activity: p.Activity, Folder: p.Folder}
	files, err := filesOf(p.Folder)
	if err != nil {
		return out, err
	}
	switch p.Activity {
	case Checksum:
		out.Digests = map[string]string{}
		err = each(files, &out, func(name string, b []byte) error {
			out.Digests[name] = digest(b)
			return nil
		})
	case Count:
		out.Counts = map[string]Counts{}
		err = each(files, &out, func(name string, b []byte) error {
			out.Counts[name] = count(b)
			return nil
		})
	case Compress:
		out.Archive = filepath.Base(p.Out) + ".gz"
		err = writeWhole(p.Out+".gz", func(w io.Writer) error {
			z := gzip.NewWriter(w)
			return errors.Join(each(files, &out, func(_ string, b []byte) error {
				_, err := z.Write(b)
				return err
			}), z.Close())
		})
	default:
		err = errors.New("unknown activity; use sha256, gzip or words")
	}
	return out, err
}

func each(files []string, out *Output, do func(name string, b []byte) error) error {
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		out.Files++
		out.Bytes += int64(len(b))
		if err := do(filepath.Base(f), b); err != nil {
			return err
		}
	}
	return nil
}

// filesOf are the regular files of a folder, by name, without those of its sub-folders.
func filesOf(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	return files, nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func count(b []byte) Counts {
	return Counts{
		Lines: int64(bytes.Count(b, []byte{'\n'})),
		Words: int64(len(bytes.Fields(b))),
		Bytes: int64(len(b)),
	}
}

// writeWhole writes a file beside its name and renames it: a job that was cut off leaves none.
func writeWhole(name string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".part-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
