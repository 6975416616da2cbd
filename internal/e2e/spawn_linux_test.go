package e2e

import "syscall"

// diesWithUs makes the kernel end a child when the thread that started it ends.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
