package pg

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who the server runs as. PostgreSQL refuses to run as root.
type account struct {
	uid, gid int
	name     string
	switched bool // we are root and the server is not
}

// serverAccount is the current user, or for root the user postgres, else the user nobody.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid(), name: strconv.Itoa(os.Geteuid())}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && uid != 0 {
			return account{uid: uid, gid: gid, name: name, switched: true}, nil
		}
	}
	return account{}, fmt.Errorf("private cluster: PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

// credential makes a child process run as a.
func (a account) credential() *syscall.Credential {
	if !a.switched {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// canReach says whether a may go through every folder on the way to dir; if not, which one stops it.
func (a account) canReach(dir string) (blocked string, ok bool) {
	if !a.switched {
		return "", true
	}
	for d := dir; ; d = filepath.Dir(d) {
		st, err := os.Stat(d)
		if err == nil {
			sys := st.Sys().(*syscall.Stat_t)
			mode := st.Mode().Perm()
			open := mode&0o001 != 0
			switch {
			case int(sys.Uid) == a.uid:
				open = mode&0o100 != 0
			case int(sys.Gid) == a.gid:
				open = mode&0o010 != 0
			}
			if !open {
				return d, false
			}
		}
		if d == filepath.Dir(d) {
			return "", true
		}
	}
}

// privateDir makes dir, or checks that it is a real folder which belongs to a and admits no other user.
func (a account) privateDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		return os.Chown(dir, a.uid, a.gid)
	}
	if !os.IsExist(err) {
		return err
	}
	return a.checkPrivate(dir)
}

func (a account) checkPrivate(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() || int(st.Sys().(*syscall.Stat_t).Uid) != a.uid || st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("private cluster: %s must be a folder of user %s with mode 0700, and is not", dir, a.name)
	}
	return nil
}
