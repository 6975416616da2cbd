package payload

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Conceal has nothing to do: the memory of a process is hidden from others of its user, and Go's descriptors are not inherited.
func Conceal() error { return nil }

// subreaper says that there is none: what jobs leave in other groups and sessions stays.
func subreaper() error { return errors.ErrUnsupported }

// attributes are those of the first process of a job: a group of its own. When the pilot is killed, the guard kills it.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}

// inCgroup has nothing to do: there are no control groups.
func inCgroup(a *syscall.SysProcAttr, _ *cgroup) *syscall.SysProcAttr { return a }

func ownCgroup() (string, error) { return "", errors.New("macOS has no control groups") }

// awaitExit waits for a child to end, and leaves its id taken.
func awaitExit(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(queue)
	exit := []unix.Kevent_t{{Ident: uint64(pid), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}}
	for { // ESRCH: it has ended already
		if _, err := unix.Kevent(queue, exit, make([]unix.Kevent_t, 1), nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// actAs knows no threads with other rights.
func actAs(user *syscall.Credential, f func() error) error {
	if user == nil {
		return f()
	}
	return errors.New("dir, stdout and stderr of a task: not with --payload-user on macOS")
}

// special has nothing to say: there is no /proc.
func special(*os.File) bool { return false }
