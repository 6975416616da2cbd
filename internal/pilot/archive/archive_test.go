package archive

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// bucket is an S3 server that keeps what is put.
type bucket struct {
	mu     sync.Mutex
	kept   map[string]string
	status int // instead of keeping
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.status != 0:
		w.WriteHeader(b.status)
	case r.Method != http.MethodPut || !strings.Contains(r.Header.Get("Authorization"), "Credential=alice/"):
		w.WriteHeader(http.StatusForbidden)
	default:
		b.kept[r.URL.Path] = unchunked(r)
		w.Header().Set("ETag", `"1"`)
	}
}

// unchunked is the body without the signatures between its pieces.
func unchunked(r *http.Request) string {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING") {
		b, _ := io.ReadAll(r.Body)
		return string(b)
	}
	var text strings.Builder
	for in := bufio.NewReader(r.Body); ; {
		line, _ := in.ReadString('\n')
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err != nil || n == 0 {
			return text.String()
		}
		_, _ = io.CopyN(&text, in, n)
		_, _ = in.ReadString('\n')
	}
}

func written() map[string]*io.SectionReader {
	of := func(text string) *io.SectionReader {
		return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
	}
	return map[string]*io.SectionReader{"stdout.log": of(strings.Repeat("a line\n", 100_000)), "stderr.log": of("")}
}

func keys(endpoint string) func(string) string {
	return func(name string) string {
		return map[string]string{keyEndpoint: endpoint, keyAccess: "alice", keySecret: "secret"}[name]
	}
}

func TestS3(t *testing.T) {
	b := &bucket{kept: map[string]string{}}
	srv := httptest.NewServer(b)
	defer srv.Close()
	p, err := Open("s3://logs/site/a/", keys(srv.URL))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Keep(t.Context(), "7-1", written()); err != nil {
		t.Fatal(err)
	}
	if got := b.kept["/logs/site/a/7-1/stdout.log"]; len(b.kept) != 1 || got != strings.Repeat("a line\n", 100_000) {
		t.Errorf("%d objects, %d bytes", len(b.kept), len(got))
	}
	if w := p.Where("7-1"); w != "s3://logs/site/a/7-1" {
		t.Error(w)
	}
	b.status = http.StatusForbidden
	if err := p.Keep(t.Context(), "7-1", written()); err == nil || !strings.Contains(err.Error(), "s3://logs/site/a/7-1/stdout.log") {
		t.Errorf("refused: %v", err)
	}
	srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Keep(ctx, "7-1", written()); err == nil {
		t.Error("kept although the server is away")
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	p, err := Open(filepath.Join(dir, "logs"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // again: another site, or the same one begun anew
		if err := p.Keep(t.Context(), "7-1", written()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, "logs", "7-1", "stdout.log"))
	if err != nil || len(got) != 700_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if all, _ := os.ReadDir(filepath.Join(dir, "logs", "7-1")); len(all) != 1 {
		t.Errorf("%d files", len(all))
	}
	if err := os.WriteFile(filepath.Join(dir, "logs", "8-1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Keep(t.Context(), "8-1", written()); err == nil || !strings.Contains(err.Error(), "8-1") {
		t.Errorf("into a file: %v", err)
	}
}

func TestBadPlaces(t *testing.T) {
	none := func(string) string { return "" }
	for place, want := range map[string]string{
		"s3://":        "names no bucket",
		"s3://b/p":     "DIVVY_S3_ACCESS_KEY is not set",
		"gs://b":       "expected the path of a folder",
		"/dev/null/no": "not a directory",
	} {
		if _, err := Open(place, none); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", place, err, want)
		}
	}
}

// On a disk that is full the error says so, and nothing half written stays.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("only root may mount: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	p, err := Open(dir, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Keep(t.Context(), "7-1", written()); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), filepath.Join(dir, "7-1", "stdout.log")) {
		t.Errorf("on a full disk: %v", err)
	}
	if all, err := os.ReadDir(filepath.Join(dir, "7-1")); err != nil || len(all) != 0 {
		t.Errorf("it left %v, %v", all, err)
	}
}
