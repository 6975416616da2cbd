package panda

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/sandbox"
)

// archive is a gzip file.
func archive(t testing.TB, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// upload sends a file as panda-client does and returns the answer.
func (c caller) upload(part, name string, content []byte) string {
	c.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	w, err := form.CreateFormFile(part, name)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.Post(c.url+uploadPath, form.FormDataContentType(), &body)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %d %v", name, resp.StatusCode, err)
	}
	return string(answer)
}

// get fetches a path of the server, with no credential.
func (c caller) get(path string) (int, string) {
	c.t.Helper()
	resp, err := http.Get(strings.TrimSuffix(c.url, "/api/v1") + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// What panda-client does before it submits a task: has it been uploaded already, else upload; and what a job does with it.
func TestUpload(t *testing.T) {
	w := newWorld(t)
	alice, bob := w.callerAs(forHerself("alice")), w.callerAs(forHerself("bob"))
	one, two := archive(t, "one"), archive(t, "two")
	same := func(c caller, content string) string {
		a := map[string]any{"file_size": len(archive(t, content)), "checksum": crc32.ChecksumIEEE([]byte(content))}
		var e wire.Envelope
		if err := json.Unmarshal([]byte(c.raw(send, "/file_server/validate_cache_file", a)), &e); err != nil || !e.Success {
			t.Fatalf("%+v, %v", e, err)
		}
		return e.Message
	}
	if got := same(alice, "one"); got != "NOT FOUND" {
		t.Errorf("before the upload: %s", got)
	}
	for _, c := range []struct {
		who        caller
		part, name string
		content    []byte
		want       string
	}{
		{alice, "file", "jobO.1.tar.gz", one, nothing},
		{alice, "file", "/tmp/x/jobO.2.tar.gz", two, nothing}, // as its native library names it
		{bob, "file", "jobO.1.tar.gz", two, `{"success":false,"message":"the file belongs to another user: jobO.1.tar.gz","data":null}`},
		{alice, "other", "jobO.1.tar.gz", two, `{"success":false,"message":"the file is not accepted: no part called file in the form","data":null}`},
		{alice, "file", "job O", two, `{"success":false,"message":"the file is not accepted: name \"job O\": up to 200 letters, digits, dots, dashes and underscores, a letter or digit first","data":null}`},
		{alice, "file", "jobO.3.tar.gz", []byte("x"), `{"success":false,"message":"the file is not accepted: jobO.3.tar.gz: not a gzip file","data":null}`},
		{alice, "file", "jobO.3.tar.gz", make([]byte, sandbox.MaxSize+1), `{"success":false,"message":"the file is not accepted: jobO.3.tar.gz has more than 10485760 bytes","data":null}`},
		{alice, "file", "jobO.3.tar.gz", make([]byte, sandbox.MaxSize+1<<20), `{"success":false,"message":"the file is not accepted: more than 10485760 bytes","data":null}`},
	} {
		if got := c.who.upload(c.part, c.name, c.content); got != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.part, c.name, got, c.want)
		}
	}
	at, err := url.Parse(alice.url)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := same(alice, "one"), "FOUND:"+at.Hostname()+":jobO.1.tar.gz"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := same(bob, "one"); got != "NOT FOUND" {
		t.Errorf("another's: %s", got)
	}
	for path, want := range map[string]string{"/cache/jobO.1.tar.gz": "200 " + string(one), "/cache/jobO.2.tar.gz": "200 " + string(two),
		"/cache/jobO.3.tar.gz": "404 no file of this name here: unused files are deleted after 30 days\n", "/cache/..%2fx": "404 no file of this name here: unused files are deleted after 30 days\n"} {
		if status, body := bob.get(path); fmt.Sprint(status, " ", body) != want {
			t.Errorf("%s: %d %q", path, status, body)
		}
	}
	if got := alice.raw(send, uploadPath, map[string]any{"file": "x"}); !strings.Contains(got, "multipart/form-data") {
		t.Error(got)
	}
	if got := alice.raw(get, uploadPath, nil); !strings.Contains(got, "expecting POST, received GET") {
		t.Error(got)
	}
}

// stuck is a body that says once that it is read, and then nothing until it is over.
type stuck struct{ read, over chan struct{} }

func (b stuck) Read([]byte) (int, error) {
	b.read <- struct{}{}
	<-b.over
	return 0, io.ErrUnexpectedEOF
}

// A user's slow uploads keep no other user waiting, and who waits for his own turn may give up.
func TestSlowUploads(t *testing.T) {
	s := newServer(Config{})
	slow := stuck{make(chan struct{}, 2*maxUploads), make(chan struct{})}
	var all sync.WaitGroup
	for range 2 * maxUploads {
		all.Go(func() {
			r := httptest.NewRequest(http.MethodPost, uploadPath, slow)
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
			s.upload(httptest.NewRecorder(), r.WithContext(access.With(t.Context(), &access.Caller{Name: "alice", From: "x"})))
		})
	}
	<-slow.read
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	over, ok := s.uploads.begin(ctx, "bob")
	if !ok {
		t.Fatal("bob waits for alice")
	}
	over()
	given, up := context.WithCancel(ctx)
	up()
	if _, ok := s.uploads.begin(given, "alice"); ok {
		t.Error("alice has two turns")
	}
	if n := len(slow.read); n != 0 {
		t.Errorf("%d more of alice's are read", n)
	}
	close(slow.over)
	all.Wait()
	if len(s.uploads.of) != 0 || len(s.uploads.all) != 0 {
		t.Errorf("%d users and %d slots stay", len(s.uploads.of), len(s.uploads.all))
	}
}
