// Package proc reads what the kernel counts for processes, in /proc.
package proc
