package payload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// prepare finds the command of a job and opens the files that its output goes to. Where the lease names a folder or files, all is
// looked for and opened as the user that the job runs as.
func (h *Host) prepare(j *Job, env []string) (path string, err error) {
	l := &j.lease
	for i, name := range []string{stdoutName, stderrName} {
		if l.Stdout != "" && i == 0 || l.Stderr != "" && i == 1 {
			continue
		}
		if j.streams[i], err = os.OpenFile(filepath.Join(j.dir, name), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
			return "", err
		}
	}
	look := func() (string, error) { return lookPath(l.Command[0], j.cwd(), env) }
	if l.Image != "" {
		look = func() (string, error) { return "", nil } // it is the image that has the command
	}
	if l.Dir == "" && l.Stdout == "" && l.Stderr == "" {
		return look()
	}
	err = actAs(h.files.user.credential(), func() error {
		if err := usable(l.Dir); err != nil {
			return err
		}
		if path, err = look(); err != nil {
			return err
		}
		return j.openNamed()
	})
	return path, err
}

// usable says whether jobs can run in a folder, if one is named. It has no error that could be taken for that of a command.
func usable(dir string) error {
	if dir == "" {
		return nil
	}
	if _, err := os.Stat(dir + "/."); err != nil {
		return fmt.Errorf("dir %s: %s on this machine", dir, reason(err))
	}
	return nil
}

// openNamed opens the files that the lease names. One for both streams is opened once.
func (j *Job) openNamed() (err error) {
	l := &j.lease
	if l.Stdout != "" {
		if j.streams[0], err = openStream(l.Stdout); err != nil {
			return fmt.Errorf("stdout %s: %s", l.Stdout, reason(err))
		}
	}
	switch l.Stderr {
	case "":
	case l.Stdout:
		j.streams[1] = j.streams[0]
	default:
		if j.streams[1], err = openStream(l.Stderr); err != nil {
			return fmt.Errorf("stderr %s: %s", l.Stderr, reason(err))
		}
	}
	return nil
}

// openStream opens a file for output, and empties it. It waits for no reader of a pipe.
func openStream(name string) (*os.File, error) {
	const flags = unix.O_CREAT | unix.O_APPEND | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Open(name, flags|unix.O_RDWR, 0o666)
	if errors.Is(err, unix.EACCES) { // one that can only be written: then nothing of it is shown
		fd, err = unix.Open(name, flags|unix.O_WRONLY, 0o666)
	}
	if err != nil {
		return nil, err
	}
	_ = unix.SetNonblock(fd, false)
	f := os.NewFile(uintptr(fd), name)
	if err := empty(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// empty refuses what is neither a plain file nor /dev/null: a pipe or a terminal is there on one machine only, and files of the kernel
// are the pilot's.
func empty(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(st, null) {
		return nil
	}
	if !st.Mode().IsRegular() || special(f) {
		return errors.New("not a regular file")
	}
	return f.Truncate(0)
}

// reason is an error without the path that it is about.
func reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}
