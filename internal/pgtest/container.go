package pgtest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

// image is what CI has, and what people with Docker pull.
const image = "postgres:17-alpine"

// dockerAnswers asks the engine that DOCKER_HOST names, or the usual socket, for a sign of life. It costs
// nothing where there is none.
func dockerAnswers(ctx context.Context) bool {
	if os.Getenv("DIVVY_TEST_CONTAINERS") == "off" {
		return false
	}
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = "unix:///var/run/docker.sock"
	}
	u, err := url.Parse(host)
	if err != nil {
		return false
	}
	network, address := "tcp", u.Host
	switch u.Scheme {
	case "unix":
		network, address = "unix", u.Path
	case "tcp", "http":
	default: // ssh://, npipe://: testcontainers would find out, but not cheaply
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/_ping", nil)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// startContainer runs a server in a container and returns its DSN and what stops it.
func startContainer(ctx context.Context) (dsn string, halt func(context.Context) error, err error) {
	c, err := postgres.Run(ctx, image,
		postgres.WithDatabase("divvy"), postgres.WithUsername("divvy"), postgres.WithPassword("divvy"),
		testcontainers.WithCmdArgs("-c", "max_connections=200"),
		testcontainers.WithLogger(log.New(io.Discard, "", 0)),
		postgres.BasicWaitStrategies())
	halt = func(ctx context.Context) error {
		return testcontainers.TerminateContainer(c, testcontainers.StopContext(ctx), testcontainers.StopTimeout(0))
	}
	if err == nil {
		dsn, err = c.ConnectionString(ctx, "sslmode=disable")
	}
	if err != nil {
		_ = halt(ctx)
		return "", nil, err
	}
	return dsn, halt, nil
}
