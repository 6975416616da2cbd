package pg

import "syscall"

// attributes of the server's process: a group of its own, so that Ctrl-C reaches divvy alone, and a signal
// from the kernel when the thread that started it ends.
func attributes(acc account, death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, Credential: acc.credential()}
}
