//go:build unix && !linux

package e2e

import "syscall"

func diesWithUs() *syscall.SysProcAttr { return nil }
