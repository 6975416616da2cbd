package door

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// wantsTLS is what a client is told that speaks HTTP where TLS is spoken. net/http says the like of connections that it accepts
// itself.
const wantsTLS = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" +
	"This port speaks TLS: ask it by https:// instead of http://\n"

// methods are those whose requests a client may have begun without TLS.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// tellOfTLS answers a client whose handshake failed with err because it was an HTTP request.
func tellOfTLS(err error) {
	var not tls.RecordHeaderError
	if !errors.As(err, &not) || not.Conn == nil || !beginsHTTP(string(not.RecordHeader[:])) {
		return
	}
	_ = not.Conn.SetDeadline(time.Now().Add(pieces))
	if _, err := io.WriteString(not.Conn, wantsTLS); err != nil {
		return
	}
	// What the client sends yet would otherwise reset the connection, and the answer with it.
	if half, ok := not.Conn.(*net.TCPConn); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, half, MaxBody)
	}
}

// beginsHTTP is true for the first bytes of a request.
func beginsHTTP(first string) bool {
	for _, method := range methods {
		if line := method + " /"; strings.HasPrefix(line, first) || strings.HasPrefix(first, line) {
			return true
		}
	}
	return false
}
