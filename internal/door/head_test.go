package door

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var routes = map[string]http.Handler{"/v1/pulls": http.NotFoundHandler(), "/x": http.NotFoundHandler()}

// lines makes a request of lines and a body.
func lines(body string, l ...string) string { return strings.Join(l, "\r\n") + "\r\n\r\n" + body }

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want verdict
	}{
		"plain":              {lines("{}", "POST /x HTTP/1.1", "Host: a:1", "Content-Length: 2"), plain},
		"any case":           {lines("{}", "POST /x HTTP/1.1", "hOST: a", "content-length:2", "x-Y: \t z "), plain},
		"keeps":              {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", "Connection: keep-alive"), plain},
		"twice the same":     {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", "Accept: b", "Accept: c", "Empty:"), plain},
		"nothing":            {"", short},
		"a beginning":        {"POS", short},
		"half a line":        {"POST /x HT", short},
		"half a head":        {"POST /x HTTP/1.1\r\nHost: a\r\n", short},
		"get":                {lines("", "GET /x HTTP/1.1", "Host: a"), other},
		"another path":       {lines("", "POST /y HTTP/1.1", "Host: a", "Content-Length: 0"), other},
		"a query":            {lines("", "POST /x?a HTTP/1.1", "Host: a", "Content-Length: 0"), other},
		"a whole URL":        {lines("", "POST http://a/x HTTP/1.1", "Host: a", "Content-Length: 0"), other},
		"older":              {lines("", "POST /x HTTP/1.0", "Host: a", "Content-Length: 0"), other},
		"line feeds only":    {"POST /x HTTP/1.1\nHost: a\nContent-Length: 0\n\n", other},
		"a line feed inside": {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", "A: b\nTransfer-Encoding: chunked"), other},
		"no host":            {lines("", "POST /x HTTP/1.1", "Content-Length: 0"), other},
		"two hosts":          {lines("", "POST /x HTTP/1.1", "Host: a", "Host: a", "Content-Length: 0"), other},
		"an odd host":        {lines("", "POST /x HTTP/1.1", "Host: a b", "Content-Length: 0"), other},
		"no length":          {lines("", "POST /x HTTP/1.1", "Host: a"), other},
		"two lengths":        {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", "Content-Length: 0"), other},
		"a signed length":    {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: +1"), other},
		"two in one":         {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 1, 1"), other},
		"a huge length":      {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 123456789"), other},
		"chunks":             {lines("0\r\n\r\n", "POST /x HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"), other},
		"both":               {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", "Transfer-Encoding: chunked"), other},
		"expects":            {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 1", "Expect: 100-continue"), other},
		"upgrades":           {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", "Connection: upgrade", "Upgrade: h2c"), other},
		"a fold":             {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", "A: b", " c"), other},
		"a blank in a name":  {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length : 0"), other},
		"no name":            {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", ": b"), other},
		"a control":          {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", "A: \x01"), other},
		"endless":            {"POST /x HTTP/1.1\r\nA: " + strings.Repeat("b", maxHead), other},
		"an endless line":    {"POST /" + strings.Repeat("x", maxHead), other},
		"too long a head":    {lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", "A: "+strings.Repeat("b", maxHead)), other},
	} {
		if _, _, v := new(head).read([]byte(c.in), routes); v != c.want {
			t.Errorf("%s: verdict %d, want %d", name, v, c.want)
		}
	}
}

// same fails unless net/http reads the request at the beginning of in as h does.
func same(t *testing.T, h *head, in []byte, size int) {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(in)))
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", in, err)
	}
	type seen struct {
		Method, URI, Path, Host string
		Header                  http.Header
		Length                  int64
		Close                   bool
	}
	line, _, _ := strings.Cut(string(in), "\r\n")
	path := strings.Fields(line)[1]
	ours := seen{"POST", path, path, h.host, h.header, int64(h.length), h.last}
	theirs := seen{r.Method, r.RequestURI, r.URL.Path, r.Host, r.Header, r.ContentLength, r.Close}
	if d := cmp.Diff(theirs, ours); d != "" || r.TransferEncoding != nil || r.Trailer != nil {
		t.Fatalf("%q is read differently (- net/http, + door): %s", in, d)
	}
	body, err := io.ReadAll(r.Body)
	if whole := len(in) >= size+h.length; whole != (err == nil) || whole && !bytes.Equal(body, in[size:size+h.length]) {
		t.Fatalf("%q: another body: %q, %v", in, body, err)
	}
}

// FuzzHead holds the reading of heads against net/http's: what the door takes for plain, net/http reads alike.
func FuzzHead(f *testing.F) {
	f.Add([]byte(lines("{}", "POST /v1/pulls HTTP/1.1", "Host: [::1]:8470", "User-Agent: x", "Content-Length: 2", "Connection: close")))
	f.Add([]byte(lines("", "POST /x HTTP/1.1", "Host: a", "Content-Length: 0", "Accept: b", "accept: c", "_: \t")))
	f.Add([]byte(lines("abc", "POST /x HTTP/1.1", "host: a", "content-length: 5", "Connection: keep-alive", "X: ")))
	f.Fuzz(func(t *testing.T, in []byte) {
		var h head
		serve, size, v := h.read(in, routes)
		if v != plain {
			return
		}
		same(t, &h, in, size)
		again, length, v := h.read(in, routes) // now by the lines that are known
		if v != plain || length != size || again == nil != (serve == nil) {
			t.Fatalf("%q: the second time %d, %d bytes", in, v, length)
		}
		same(t, &h, in, size)
	})
}
