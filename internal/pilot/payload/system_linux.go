package payload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

// inCgroup has a process begin in a control group, if there is one.
func inCgroup(a *syscall.SysProcAttr, g *cgroup) *syscall.SysProcAttr {
	if g != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(g.fd.Fd())
	}
	return a
}

// mounted is where control groups are.
const mounted = "/sys/fs/cgroup"

// ownCgroup is the folder of the control group that this process is in, and may change. Of root's it has to be said to be delegated, or to be all
// that a container sees: others are those of another manager.
func ownCgroup() (dir string, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(mounted, &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return "", errors.New("this machine has no control groups of version 2 alone")
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	path, found := strings.CutPrefix(strings.TrimSpace(string(text)), "0::")
	dir = filepath.Join(mounted, path)
	if !found || unix.Access(filepath.Join(dir, "cgroup.subtree_control"), unix.W_OK) != nil || unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil {
		return "", fmt.Errorf("%s cannot be written: a systemd unit needs Delegate=yes", dir)
	}
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "", err
	}
	said := make([]byte, 1)
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		if n, err := unix.Getxattr(dir, name, said); err == nil && n == 1 && said[0] == '1' {
			return dir, nil
		}
	}
	inner := unix.Access(filepath.Join(dir, "cgroup.type"), unix.F_OK) == nil // the root of all has none
	if st.Uid != 0 && int(st.Uid) == os.Geteuid() || path == "/" && inner {
		return dir, nil
	}
	return "", fmt.Errorf("%s is not delegated: a systemd unit needs Delegate=yes", dir)
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
