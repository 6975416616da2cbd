package payload

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// jobUser is the user that jobs run as; nil means the pilot's user.
type jobUser struct {
	name, home string
	cred       *syscall.Credential
}

// lookUpUser finds a user by name; "" is the pilot's own user.
func lookUpUser(name string) (*jobUser, error) {
	if name == "" {
		return nil, nil
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("only root can run jobs as another user")
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("groups of %s: %w", name, err)
	}
	p := &jobUser{name: name, home: u.HomeDir, cred: &syscall.Credential{}}
	ids := []*uint32{&p.cred.Uid, &p.cred.Gid}
	texts := append([]string{u.Uid, u.Gid}, groups...)
	p.cred.Groups = make([]uint32, len(groups))
	for i := range groups {
		ids = append(ids, &p.cred.Groups[i])
	}
	for i, text := range texts {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("ids of %s: %w", name, err)
		}
		*ids[i] = uint32(n)
	}
	if p.cred.Uid == 0 {
		return nil, fmt.Errorf("%s is root: jobs would reach all that the pilot does", name)
	}
	return p, nil
}

// credential is nil for jobs that run as the pilot does.
func (u *jobUser) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return u.cred
}

// variables are those that a shell of the user has.
func (u *jobUser) variables() []string {
	if u == nil {
		return nil
	}
	return []string{"HOME=" + u.home, "USER=" + u.name, "LOGNAME=" + u.name}
}

// enter lets the user pass through the folder of the pilot; it says which one above keeps it out.
func (u *jobUser) enter(root string) error {
	if u == nil {
		return nil
	}
	own := filepath.Dir(root) == filepath.Join(os.TempDir(), fmt.Sprintf("divvy-pilot-%d", os.Geteuid()))
	for dir := root; ; dir = filepath.Dir(dir) {
		if dir == root || own && dir == filepath.Dir(root) {
			if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // the user passes through, and sees no names
				return err
			}
		}
		st, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !u.passes(st) {
			return fmt.Errorf("%s cannot pass through %s: choose another --work-dir, or let that user through (chmod o+x)", u.name, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// passes says whether the user may pass through a folder: as its owner, else by a group, else as anybody.
func (u *jobUser) passes(st os.FileInfo) bool {
	perm := st.Mode().Perm()
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		switch {
		case s.Uid == u.cred.Uid:
			return perm&0o100 != 0
		case s.Gid == u.cred.Gid || slices.Contains(u.cred.Groups, s.Gid):
			return perm&0o010 != 0
		}
	}
	return perm&0o001 != 0
}

// give makes a job's folder one that the user works in. The folder itself stays the pilot's: no link can be put into the place of what
// the pilot reads and writes there.
func (u *jobUser) give(dir string) error {
	if u == nil {
		return nil
	}
	outputs := filepath.Join(dir, outputsName)
	if err := os.WriteFile(outputs, nil, 0o600); err != nil {
		return err
	}
	for _, name := range []string{filepath.Join(dir, workName), filepath.Join(dir, tmpName), outputs} {
		if err := os.Lchown(name, int(u.cred.Uid), int(u.cred.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o711) //nolint:gosec // the user passes through, and sees no names
}
