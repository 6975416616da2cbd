package ownca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Authority is a CA.
type Authority struct {
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
	PEM  string // file
}

// New makes a CA that is good for an hour.
func New(t testing.TB, name string) Authority {
	t.Helper()
	key := NewKey(t)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return Authority{cert, key, writePEM(t, name+".pem", "CERTIFICATE", der)}
}

// NewKey makes a key.
func NewKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, name, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Issue signs a certificate for 127.0.0.1 and for clients that is good until then, and writes it and its key to files.
func (a Authority) Issue(t testing.TB, until time.Time, subject ...pkix.AttributeTypeAndValue) (cert, key string) {
	t.Helper()
	return a.sign(t, &x509.Certificate{RawSubject: Subject(t, subject...), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
}

// IssueNames is Issue for hosts of these names, and no address, for an hour.
func (a Authority) IssueNames(t testing.TB, names ...string) (cert, key string) {
	t.Helper()
	return a.sign(t, &x509.Certificate{NotAfter: time.Now().Add(time.Hour), DNSNames: names})
}

// sign fills in what all certificates have.
func (a Authority) sign(t testing.TB, tmpl *x509.Certificate) (cert, key string) {
	t.Helper()
	tmpl.SerialNumber, tmpl.NotBefore, tmpl.KeyUsage = big.NewInt(2), time.Now().Add(-2*time.Hour), x509.KeyUsageDigitalSignature
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	k := NewKey(t)
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.Cert, &k.PublicKey, a.Key)
	if err != nil {
		t.Fatal(err)
	}
	pk, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "cert.pem", "CERTIFICATE", der), writePEM(t, "key.pem", "PRIVATE KEY", pk)
}

// Part is one of a subject.
func Part(oid, value string) pkix.AttributeTypeAndValue {
	var id asn1.ObjectIdentifier
	for _, n := range strings.Split(oid, ".") {
		i, _ := new(big.Int).SetString(n, 10)
		id = append(id, int(i.Int64()))
	}
	return pkix.AttributeTypeAndValue{Type: id, Value: value}
}

// What parts are called in certificates.
const (
	DC = "0.9.2342.19200300.100.1.25"
	CN = "2.5.4.3"
)

// Subject is a subject of these parts as certificates have it.
func Subject(t testing.TB, parts ...pkix.AttributeTypeAndValue) []byte {
	t.Helper()
	var rdn pkix.RDNSequence
	for _, part := range parts {
		rdn = append(rdn, pkix.RelativeDistinguishedNameSET{part})
	}
	raw, err := asn1.Marshal(rdn)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Person is the subject /DC=org/DC=grid/CN=cn.
func Person(cn string) []pkix.AttributeTypeAndValue {
	return []pkix.AttributeTypeAndValue{Part(DC, "org"), Part(DC, "grid"), Part(CN, cn)}
}

// Client is one that trusts the CA, and has a certificate if cert is one.
func (a Authority) Client(t testing.TB, cert, key string) *http.Client {
	t.Helper()
	if cert == "" {
		return a.ClientWith(t, nil)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return a.ClientWith(t, &pair)
}

// ClientWith is Client with a certificate that is in memory. It shows it whatever CAs are asked for.
func (a Authority) ClientWith(t testing.TB, shown *tls.Certificate) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.Cert)
	c := &tls.Config{RootCAs: roots}
	if shown != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return shown, nil }
	}
	tr := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
