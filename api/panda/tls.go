package panda

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
)

// TLSFiles are what a listener with TLS needs: its own certificate with its key, and the CAs of the clients, a file or
// a folder as grids have it; "" = no client certificates.
type TLSFiles struct {
	Cert, Key, ClientCA string
}

// Config reads the files. A client certificate is asked for, never demanded, and must be good if it is given. HTTP/1.1
// only: that is what pilots speak.
func (f TLSFiles) Config() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, NextProtos: []string{"http/1.1"}}
	if f.ClientCA == "" {
		return c, nil
	}
	if c.ClientCAs, err = readCAs(f.ClientCA); err != nil {
		return nil, fmt.Errorf("client CAs: %w", err)
	}
	// What tls.VerifyClientCertIfGiven does, and proxies too.
	c.ClientAuth, c.VerifyConnection = tls.RequestClientCert, verifyClient(c.ClientCAs)
	return c, nil
}

// readCAs takes every certificate of a file, or of the *.pem, *.crt and *.0 of a folder.
func readCAs(path string) (*x509.CertPool, error) {
	files := []string{path}
	if at, err := os.Stat(path); err != nil {
		return nil, err
	} else if at.IsDir() {
		files = nil
		for _, glob := range []string{"*.pem", "*.crt", "*.0"} {
			some, err := filepath.Glob(filepath.Join(path, glob))
			if err != nil {
				return nil, err
			}
			files = append(files, some...)
		}
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
