package serve

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/divvyhq/divvy/api/panda"
	"github.com/divvyhq/divvy/cmd/divvy/config"
)

// lastWord is the shortest panda_lease under which the last word of a failed job comes in time, and is no surprise when it is late.
const lastWord = 3 * time.Minute

// PandaURL is where this host reaches PanDA's API.
func (d *Daemon) PandaURL() string {
	if d.ports.panda == nil {
		return d.URL()
	}
	return urlOf(d.cfg.Access.TLS.Cert != "", d.ports.panda.Addr())
}

// pandaConfig is PanDA's API as the configuration has it.
func (d *Daemon) pandaConfig() (panda.Config, error) {
	c := panda.Config{Dispatcher: d.dispatcher, Tasks: d.tasks, URL: d.cfg.Panda.URL, Transforms: d.cfg.Panda.Transforms, Lease: d.cfg.Panda.Lease, Anonymous: d.cfg.Panda.Anonymous, Gate: d.store}
	err := checkFolder("panda_transforms", d.cfg.Panda.Transforms)
	if d.cfg.PandaOpen() {
		warnPandaOpen(d.cfg, d.log)
	}
	if d.cfg.Panda.Lease < lastWord {
		d.log.Warn("pilots of PanDA say that a job has failed up to two minutes after its end: such jobs count as lost", "panda_lease", d.cfg.Panda.Lease, "least", lastWord)
	}
	return c, err
}

// openBy names the settings that admit everyone, by panda_anonymous.
var openBy = map[bool]string{true: "panda_anonymous", false: "insecure, and no credentials"}

// warnPandaOpen says aloud that other hosts need no credential.
func warnPandaOpen(cfg config.Config, log *slog.Logger) {
	key, addr := "listen", cfg.Listen
	if cfg.Panda.Listen != "" {
		key, addr = "panda_listen", cfg.Panda.Listen
	}
	if local, err := config.Loopback(addr); err == nil && !local {
		log.Warn("everybody who reaches this port may take jobs, report on them and steer tasks by PanDA's calls: "+
			openBy[cfg.Panda.Anonymous], key, addr)
	}
}

// readCredentials reads a file of credentials, if the key names one.
func readCredentials[T any](key, file string, read func(string, io.Reader) (T, error), into *T) error {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	defer f.Close()
	if *into, err = read(file, f); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// checkFolder refuses a key that names no folder, if it names one at all.
func checkFolder(key, folder string) error {
	if folder == "" {
		return nil
	}
	at, err := os.Stat(folder)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", key, err)
	case !at.IsDir():
		return fmt.Errorf("%s: %s is not a folder", key, folder)
	}
	return nil
}
