package keys

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// Fresh is what was read out of files, and is read again when one of them has changed: certificates and tokens are renewed
// while a daemon runs. Files that cannot be read any more, or make no sense, leave what was read before in force.
type Fresh[T any] struct {
	Name  string // for the log
	Read  func() (T, error)
	Files func() []string // those that are looked at; folders by what is in them
	Log   *slog.Logger    // nil: nothing is said
	// Every is how often the files are looked at, at most; 0 = 5 s.
	Every time.Duration

	mu     sync.Mutex
	looked time.Time
	stamp  string
	value  T
}

// defaultEvery is for Fresh.Every. A look is a system call a file.
const defaultEvery = 5 * time.Second

// First reads the files for the first time. It must have gone well before Get.
func (f *Fresh[T]) First() (err error) {
	if f.Every <= 0 {
		f.Every = defaultEvery
	}
	f.looked, f.stamp = time.Now(), f.look()
	f.value, err = f.Read()
	return err
}

// Get is what the files say now, or said at most Every ago.
func (f *Fresh[T]) Get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < f.Every {
		return f.value
	}
	f.looked = time.Now()
	stamp := f.look()
	if stamp == f.stamp {
		return f.value
	}
	f.stamp = stamp // before they are read: what changes meanwhile is read once more
	value, err := f.Read()
	switch {
	case err == nil:
		f.value = value
		f.say(slog.LevelInfo, "files have changed and were read again")
	default:
		f.say(slog.LevelWarn, "files have changed and cannot be used; what was read before stays in force", "error", err)
	}
	return f.value
}

func (f *Fresh[T]) say(level slog.Level, message string, more ...any) {
	if f.Log != nil {
		f.Log.Log(context.Background(), level, message, append(more, "of", f.Name)...)
	}
}

// look is another text whenever one of the files is another.
func (f *Fresh[T]) look() string {
	var b strings.Builder
	for _, file := range f.Files() {
		at, err := os.Stat(file)
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", file, err)
			continue
		}
		fmt.Fprintf(&b, "%s: %d %d\n", file, at.ModTime().UnixNano(), at.Size())
	}
	return b.String()
}
