package pg_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// ownerEnv makes this test binary a process that owns the cluster in the named folder until it is killed.
const ownerEnv = "DIVVY_PG_TEST_OWNER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		ownUntilKilled(dir)
	}
	pgtest.Main(m)
}

// clusterConfig is a durable cluster as serve has it, but small.
func clusterConfig(dir string) pg.ClusterConfig {
	return pg.ClusterConfig{StateDir: dir, NoFsync: true, Settings: map[string]string{"shared_buffers": "32MB"}}
}

func ownUntilKilled(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pg.StartCluster(ctx, clusterConfig(dir))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("owner", c.Owner())
	time.Sleep(5 * time.Minute) // the parent kills us
	os.Exit(1)
}
