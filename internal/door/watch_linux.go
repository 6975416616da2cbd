package door

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"syscall"
)

// watch notices clients that go, of all connections with one goroutine: epoll tells it, by the connection's number.
// A read a connection that is not expected to return would cost each long poll a second goroutine.
type watch struct {
	gone func(number uint64) // is told, by a goroutine of the watch
	file *os.File            // of epoll, itself watched by the runtime; nil: none yet
	fd   int
}

// open is for the first connection of the system's: those in memory are not watched.
func (w *watch) open() bool {
	if w.file != nil {
		return true
	}
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil || syscall.SetNonblock(fd, true) != nil {
		return false
	}
	w.file, w.fd = os.NewFile(uintptr(fd), "epoll"), fd
	go w.run(w.file)
	return true
}

// add watches a connection until it is closed. What the system has no room for is not watched: an answer that cannot be sent shows
// it as well, only later.
func (w *watch) add(nc net.Conn, number uint64) {
	if secure, ok := nc.(*tls.Conn); ok {
		nc = secure.NetConn()
	}
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil || !w.open() {
		return
	}
	event := syscall.EpollEvent{Events: syscall.EPOLLRDHUP | syscall.EPOLLONESHOT, Fd: int32(number), Pad: int32(number >> 32)}
	_ = raw.Control(func(fd uintptr) { _ = syscall.EpollCtl(w.fd, syscall.EPOLL_CTL_ADD, int(fd), &event) })
}

func (w *watch) run(file *os.File) {
	raw, err := file.SyscallConn()
	if err != nil {
		return
	}
	var events [64]syscall.EpollEvent
	for err == nil {
		n := 0
		var failed error
		err = errors.Join(raw.Read(func(fd uintptr) bool {
			n, failed = syscall.EpollWait(int(fd), events[:], 0)
			return n > 0 || failed != nil && !errors.Is(failed, syscall.EINTR)
		}), failed)
		for _, e := range events[:max(n, 0)] {
			w.gone(uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32)
		}
	}
}

func (w *watch) close() {
	if w.file != nil {
		_ = w.file.Close()
	}
}
