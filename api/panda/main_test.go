package panda

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "curl" {
		os.Exit(standIn())
	}
	pgtest.Main(m)
}
