package otlp

import (
	"compress/gzip"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

func spans(name string) []*otlp.ResourceSpans {
	return []*otlp.ResourceSpans{{ScopeSpans: []*otlp.ScopeSpans{{Spans: []*otlp.Span{{Name: name}}}}}}
}

// Over TLS that the environment vouches for, packed, with its headers; the signal's own setting before the general one.
func TestEnvironment(t *testing.T) {
	var got http.Header
	var data otlp.TracesData
	collector := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r.Header
		packed, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := io.ReadAll(packed)
		if err != nil || proto.Unmarshal(body, &data) != nil {
			t.Error(err, len(body))
		}
	}))
	defer collector.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: collector.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", ca)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Token=a%20b, X-Other=c")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip")
	c, err := newClient(collector.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err = c.UploadTraces(t.Context(), spans("pull")); err != nil {
		t.Fatal(err)
	}
	if got.Get("X-Token") != "a b" || got.Get("X-Other") != "c" || got.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("headers are %v", got)
	}
	if name := data.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName(); name != "pull" {
		t.Errorf("the span is %q", name)
	}
}

func TestEnvironmentThatIsWrong(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"HEADERS": "a=%zz", "TIMEOUT": "10s", "CERTIFICATE": empty, "CLIENT_CERTIFICATE": empty} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_"+name, value)
			if _, err := New(t.Context(), "http://127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_"+name) {
				t.Errorf("%v, want an error that names it", err)
			}
		})
	}
}

// answers is a collector without a network.
type answers []*http.Response

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	next := (*a)[0]
	*a = (*a)[1:]
	return next, nil
}

// What the collector takes later is sent again, by its Retry-After; what it refuses is not.
func TestSentAgain(t *testing.T) {
	answer := func(code int, after string) *http.Response {
		return &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {after}}, Body: http.NoBody}
	}
	for name, c := range map[string]struct {
		answers answers
		took    time.Duration
		fails   bool
	}{
		"later":   {answers{answer(503, ""), answer(429, "20"), answer(502, ""), answer(200, "")}, 5*time.Second + 20*time.Second + 11250*time.Millisecond, false},
		"refused": {answers{answer(400, "")}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sender, err := newClient("http://collector")
				if err != nil {
					t.Fatal(err)
				}
				sender.http.Transport = &c.answers
				begin := time.Now()
				if err = sender.UploadTraces(t.Context(), spans("x")); (err != nil) != c.fails {
					t.Error(err)
				}
				if took := time.Since(begin); took != c.took || len(c.answers) > 0 {
					t.Errorf("took %v, want %v; %d answers are left", took, c.took, len(c.answers))
				}
			})
		})
	}
}
