package pg

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

const mib = 1 << 20

// settings are the command-line options of the server. Each start computes them anew, so a new divvy tunes an
// old cluster too.
func settings(l layout, b binaries, cfg ClusterConfig) []string {
	buffers := min(1024*mib, memory()/8)
	set := map[string]string{
		"listen_addresses":        "",
		"unix_socket_directories": l.run,
		"unix_socket_permissions": "0700",
		"port":                    "5432",
		"logging_collector":       "off",
		"log_destination":         "stderr",
		"log_timezone":            "UTC",
		"timezone":                "UTC",
		"max_connections":         "200",
		"shared_buffers":          kb(buffers),
		"effective_cache_size":    kb(memory() / 2),
		"maintenance_work_mem":    kb(min(256*mib, memory()/32)),
		"wal_buffers":             "16MB",
		"max_wal_size":            "8GB",
		"checkpoint_timeout":      "15min",
		"synchronous_commit":      "on",
		"wal_compression":         "on",
		"random_page_cost":        "1.1",
		"jit":                     "off",
		// Leases and counters turn over all the time: look often, though a look costs, and never pause within a small table.
		"autovacuum_naptime":             "30s",
		"autovacuum_vacuum_cost_limit":   "2000",
		"autovacuum_vacuum_scale_factor": "0.05",
	}
	if lz4(b, l) {
		set["wal_compression"] = "lz4"
	}
	if cfg.Ephemeral {
		set["shared_buffers"] = kb(min(256*mib, memory()/16))
		set["max_wal_size"] = "1GB"
	}
	if cfg.NoFsync {
		set["fsync"], set["full_page_writes"] = "off", "off"
	}
	maps.Copy(set, cfg.Settings)
	var args []string
	for _, k := range slices.Sorted(maps.Keys(set)) {
		args = append(args, "-c", k+"="+set[k])
	}
	return args
}

func kb(bytes int64) string { return strconv.FormatInt(bytes/1024, 10) + "kB" }

// lz4 says whether this build of the server has it: page images cost a third of pglz's time then.
func lz4(b binaries, l layout) bool {
	cmd := exec.Command(b.path("pg_config"), "--configure")
	cmd.Dir = l.base
	out, err := cmd.Output()
	return err == nil && bytes.Contains(out, []byte("--with-lz4"))
}

// memory is how many bytes this machine, or our control group, may use.
func memory() int64 {
	total := int64(2048 * mib)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := strings.Fields(string(text)); len(f) > 1 {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				total = n * 1024
			}
		}
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			total = min(total, n)
		}
	}
	return total
}
