//go:build unix && !linux

package pg

import "syscall"

// attributes of the server's process. There is no death signal here: a server whose owner was killed runs on
// until the next owner stops it.
func attributes(acc account, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: acc.credential()}
}
