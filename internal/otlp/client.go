package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client is what otlptrace sends with.
type client struct {
	url    string
	header http.Header
	gzip   bool
	http   http.Client
	pause  time.Duration // before what failed is sent again; it grows by half
}

// New sends to a URL such as http://127.0.0.1:4318/v1/traces. Fails when a setting of the environment cannot be used.
func New(ctx context.Context, to string) (sdk.SpanExporter, error) {
	c, err := newClient(to)
	if err != nil {
		return nil, err
	}
	return otlptrace.New(ctx, c)
}

// setting is what the environment says.
func setting(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

func newClient(to string) (c *client, err error) {
	c = &client{url: to, header: http.Header{}, gzip: setting("COMPRESSION") == "gzip", pause: 5 * time.Second}
	if err = c.readHeaders(setting("HEADERS")); err != nil {
		return nil, err
	}
	c.header.Set("Content-Type", "application/x-protobuf")
	if c.gzip {
		c.header.Set("Content-Encoding", "gzip")
	}
	ms, err := strconv.Atoi(cmp.Or(setting("TIMEOUT"), "10000"))
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT: %w", err)
	}
	c.http.Timeout = time.Duration(ms) * time.Millisecond
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if transport.TLSClientConfig, err = trust(); err != nil {
		return nil, err
	}
	c.http.Transport = transport
	return c, nil
}

// readHeaders reads "name=value,name=value"; values are percent-encoded.
func (c *client) readHeaders(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %s: %w", name, err)
		}
		c.header.Set(name, value)
	}
	return nil
}

// trust is who the collector may be, and who we are.
func trust() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := setting("CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: no certificate in %s", file)
		}
	}
	if file := setting("CLIENT_CERTIFICATE"); file != "" {
		own, err := tls.LoadX509KeyPair(file, setting("CLIENT_KEY"))
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: %w", err)
		}
		cfg.Certificates = []tls.Certificate{own}
	}
	return cfg, nil
}

func (*client) Start(context.Context) error { return nil }

func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans, again while the collector says that it may take them later, until ctx ends.
func (c *client) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	body, err := proto.Marshal(&otlp.TracesData{ResourceSpans: spans}) // field for field an ExportTraceServiceRequest
	if err != nil {
		return err
	}
	if c.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err = w.Write(body)
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
		body = packed.Bytes()
	}
	for pause := c.pause; ; pause += pause / 2 {
		after, err := c.post(ctx, body)
		if err == nil || after < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(max(pause, after)):
		}
	}
}

// post sends once. After an error, after is negative if sending again is no use.
func (c *client) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	req.Header = c.header.Clone()
	res, err := c.http.Do(req)
	if err != nil {
		return -1, err
	}
	defer res.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	after = -1
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		after = time.Duration(max(seconds, 0)) * time.Second
	default:
		if res.StatusCode/100 == 2 {
			return 0, nil
		}
	}
	return after, fmt.Errorf("%s: %s: %s", c.url, res.Status, bytes.TrimSpace(said))
}
