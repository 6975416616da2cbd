package keys

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// TLSFiles are what a listener with TLS needs: its own certificate with its key, and the CAs of the clients, a file or
// a folder as grids have it; "" = no client certificates.
type TLSFiles struct {
	Cert, Key, ClientCA string
	Name                string // whose they are, for the log
	// Log is told when they were read again; may be nil.
	Log *slog.Logger
	// Every is how often they are looked at, at most; 0 = 5 s.
	Every time.Duration
}

// Config reads the files, and again once they have changed: connections that come after that get the new ones.
func (f TLSFiles) Config() (*tls.Config, error) {
	now := &Fresh[*tls.Config]{Name: "certificate, key and CAs of " + f.Name, Read: f.read, Files: f.files, Log: f.Log, Every: f.Every}
	if err := now.First(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return now.Get(), nil }}, nil
}

// files are those that Config reads.
func (f TLSFiles) files() []string {
	all := []string{f.Cert, f.Key}
	return append(all, FilesOf(f.ClientCA)...)
}

// FilesOf are those that ReadCAs reads, for Fresh; what cannot be listed is said when it is read. "" has none.
func FilesOf(cas string) []string {
	if cas == "" {
		return nil
	}
	files, err := filesOf(cas)
	if err != nil {
		return []string{cas}
	}
	return files
}

// read makes a configuration of what the files say. A client certificate is asked for, never demanded, and must be good if
// it is given. HTTP/1.1 only: that is what pilots speak.
func (f TLSFiles) read() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, NextProtos: []string{"http/1.1"}}
	if f.ClientCA == "" {
		return c, nil
	}
	if c.ClientCAs, err = ReadCAs(f.ClientCA); err != nil {
		return nil, fmt.Errorf("client CAs: %w", err)
	}
	// What tls.VerifyClientCertIfGiven does, and proxies too.
	c.ClientAuth, c.VerifyConnection = tls.RequestClientCert, verifyClient(c.ClientCAs)
	return c, nil
}

// filesOf are the file itself, or the *.pem, *.crt and *.0 of a folder.
func filesOf(path string) ([]string, error) {
	at, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !at.IsDir() {
		return []string{path}, nil
	}
	var files []string
	for _, glob := range []string{"*.pem", "*.crt", "*.0"} {
		some, err := filepath.Glob(filepath.Join(path, glob))
		if err != nil {
			return nil, err
		}
		files = append(files, some...)
	}
	return files, nil
}

// ReadCAs takes every certificate of a PEM file, or of the *.pem, *.crt and *.0 of a folder.
func ReadCAs(path string) (*x509.CertPool, error) {
	files, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	pool, found := x509.NewCertPool(), false
	for _, file := range files {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found = pool.AppendCertsFromPEM(pem) || found
	}
	if !found {
		return nil, fmt.Errorf("%s: no certificate of a CA in it (PEM)", path)
	}
	return pool, nil
}
