//go:build containers

// Container runs a PostgreSQL in a container for a test binary, prints its DSN, and stops it when standard input ends. It is a program so
// that Docker's client is compiled only where Docker answers.
package main

import (
	"context"
	"fmt"
	"io"
	quiet "log"
	"os"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

// image is what CI has, and what people with Docker pull.
const image = "postgres:17-alpine"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	log.SetDefault(quiet.New(io.Discard, "", 0))
	c, err := postgres.Run(ctx, image,
		postgres.WithDatabase("divvy"), postgres.WithUsername("divvy"), postgres.WithPassword("divvy"),
		testcontainers.WithCmdArgs("-c", "max_connections=200"),
		postgres.BasicWaitStrategies())
	defer func() { _ = testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0)) }()
	if err != nil {
		return err
	}
	dsn, err := c.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(os.Stdout, dsn); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
