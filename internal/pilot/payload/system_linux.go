package payload

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Conceal hides the memory, environment and descriptors of this process from others of its user, and keeps descriptors that it
// inherited from the processes that it starts.
func Conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_DUMPABLE: %w", err)
	}
	if err := unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC); err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("close_range: %w", err)
	}
	return nil
}

// subreaper makes what is left of any process below this one its child.
func subreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_CHILD_SUBREAPER: %w", err)
	}
	return nil
}

// attributes are those of the first process of a job: a group of its own, and it dies with the thread that started it.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: as}
}

// awaitExit waits for a child to end, and leaves its id taken.
func awaitExit(pid int) {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// actAs calls f on a thread that reaches only what the user may. The goroutine keeps its thread, which ends with it: nothing else runs
// with these rights.
func actAs(user *syscall.Credential, f func() error) error {
	if user == nil {
		return f()
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := become(user); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

// become gives this thread the groups of the user, and its ids where files are concerned. With the ids go root's rights to files.
func become(user *syscall.Credential) error {
	var groups unsafe.Pointer
	if len(user.Groups) > 0 {
		groups = unsafe.Pointer(&user.Groups[0]) //nolint:gosec // a system call takes it
	}
	if _, _, e := syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(user.Groups)), uintptr(groups), 0); e != 0 {
		return fmt.Errorf("setgroups: %w", e)
	}
	for _, set := range []struct {
		id   uint32
		call func(int) (int, error)
	}{{user.Gid, unix.SetfsgidRetGid}, {user.Uid, unix.SetfsuidRetUid}} {
		_, _ = set.call(int(set.id))                                  // both calls say only what was
		if is, err := set.call(-1); err != nil || is != int(set.id) { // -1 changes nothing
			return fmt.Errorf("files would be opened as %d, not as %d", is, set.id)
		}
	}
	return nil
}

// special says whether a file is one of the kernel's, such as /proc/self/mem, which is the pilot's here.
func special(f *os.File) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &st) != nil || st.Type == unix.PROC_SUPER_MAGIC
}
