package panda

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var quiet = log.New(io.Discard, "", 0)

// authority is a CA of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string // file
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key := newKey(t)
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
	return authority{cert, key, writePEM(t, name+".pem", "CERTIFICATE", der)}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// issue signs a certificate that is good until then, and writes it and its key to files.
func (a authority) issue(t *testing.T, until time.Time, subject ...pkix.AttributeTypeAndValue) (cert, key string) {
	t.Helper()
	var rdn pkix.RDNSequence
	for _, part := range subject {
		rdn = append(rdn, pkix.RelativeDistinguishedNameSET{part})
	}
	raw, err := asn1.Marshal(rdn)
	if err != nil {
		t.Fatal(err)
	}
	k := newKey(t)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), RawSubject: raw, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	pk, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "cert.pem", "CERTIFICATE", der), writePEM(t, "key.pem", "PRIVATE KEY", pk)
}

func part(oid, value string) pkix.AttributeTypeAndValue {
	var id asn1.ObjectIdentifier
	for _, n := range strings.Split(oid, ".") {
		i, _ := new(big.Int).SetString(n, 10)
		id = append(id, int(i.Int64()))
	}
	return pkix.AttributeTypeAndValue{Type: id, Value: value}
}

const oidDC, oidCN = "0.9.2342.19200300.100.1.25", "2.5.4.3"

func person(cn string) []pkix.AttributeTypeAndValue {
	return []pkix.AttributeTypeAndValue{part(oidDC, "org"), part(oidDC, "grid"), part(oidCN, cn)}
}

// pilot is a client that trusts the CA, and has a certificate if cert is one.
func (a authority) pilot(t *testing.T, cert, key string) *http.Client {
	t.Helper()
	if cert == "" {
		return a.pilotWith(t, nil)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return a.pilotWith(t, &pair)
}

// pilotWith is pilot with a certificate that is in memory.
func (a authority) pilotWith(t *testing.T, shown *tls.Certificate) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	c := &tls.Config{RootCAs: roots}
	if shown != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return shown, nil } // whatever CAs are asked for
	}
	tr := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestCertificates(t *testing.T) {
	hosts, people, foreign := newAuthority(t, "hosts"), newAuthority(t, "people"), newAuthority(t, "foreign")
	hour := time.Now().Add(time.Hour)
	cert, key := hosts.issue(t, hour, part(oidCN, "host"))
	conf, err := TLSFiles{Cert: cert, Key: key, ClientCA: people.pem}.Config()
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, accessOf(t, false), conf)
	issued := func(a authority, until time.Time, cn string) *http.Client {
		cert, key := a.issue(t, until, person(cn)...)
		return hosts.pilot(t, cert, key)
	}
	good := knock{authorization: "Bearer cern-token-0123456789"}
	for _, c := range []struct {
		name   string
		client *http.Client
		knock
		status int
		want   string
	}{
		{"certificate", issued(people, hour, "Ann"), knock{}, 200, `{"Token":"","User":"Ann","DN":"/DC=org/DC=grid/CN=Ann","Origin":"","Operator":false}`},
		{"certificate and a mock token", issued(people, hour, "Robot: atlas pilots"), knock{authorization: "Bearer mock", origin: "atlas.pilot"}, 200,
			`{"Token":"","User":"atlas-robot","DN":"/DC=org/DC=grid/CN=Robot: atlas pilots","Origin":"atlas.pilot","Operator":false}`},
		{"origin of another", issued(people, hour, "Robot: atlas pilots"), knock{origin: "cms.pilot"}, 200,
			`{"StatusCode":60,"errorDialog":"atlas-robot may not speak for cms.pilot, only for atlas.*"}`},
		{"no line fits", issued(people, hour, "Annette"), knock{}, 200, `{"StatusCode":60,"errorDialog":"no line of panda_users fits the certificate /DC=org/DC=grid/CN=Annette"}`},
		{"a name that looks like two parts", issued(people, hour, "x/DC=org/CN=Ann"), knock{}, 200,
			`{"StatusCode":60,"errorDialog":"no line of panda_users fits the certificate /DC=org/DC=grid/CN=x\\/DC=org\\/CN=Ann"}`},
		{"no line fits, good token", issued(people, hour, "Annette"), good, 200, `{"Token":"cern","User":"","DN":"/DC=org/DC=grid/CN=Annette","Origin":"","Operator":false}`},
		{"no certificate, good token", hosts.pilot(t, "", ""), good, 200, `{"Token":"cern","User":"","DN":"","Origin":"","Operator":false}`},
		{"no certificate", hosts.pilot(t, "", ""), knock{path: "/api/v1/pilot/update_job"}, 403,
			`{"success":false,"message":"no credential: send the header Authorization: Bearer <token>, or a client certificate","data":null}`},
	} {
		if status, body := c.do(t, c.client, url); status != c.status || body != c.want {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	for name, client := range map[string]*http.Client{
		"of a CA that is not trusted": issued(foreign, hour, "Ann"),
		"that has run out":            issued(people, time.Now().Add(-time.Hour), "Ann"),
	} {
		if resp, err := client.Post(url+"/server/panda/isAlive", "application/json", nil); err == nil || !refusedByTLS(err) {
			t.Errorf("a certificate %s: %v %v", name, resp, err)
		}
	}
}

// refusedByTLS says whether the handshake was refused. With TLS 1.3 a client may be sending its request by then: it hears of it by the
// alert, or by a connection that is gone: at the other end, or here, where whoever read the alert has closed it under the one who sends.
func refusedByTLS(err error) bool {
	return strings.Contains(err.Error(), "tls: ") || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF)
}

// Pilots speak HTTP/1.1; nothing else is offered to a client that would like more.
func TestHTTP11(t *testing.T) {
	ca := newAuthority(t, "ca")
	cert, key := ca.issue(t, time.Now().Add(time.Hour), part(oidCN, "host"))
	conf, err := TLSFiles{Cert: cert, Key: key}.Config()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := ca.pilot(t, "", "").Get(listen(t, &Access{Anyone: true}, conf))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var who Caller
	if err := json.NewDecoder(resp.Body).Decode(&who); err != nil || resp.ProtoMajor != 1 || resp.TLS.NegotiatedProtocol != "http/1.1" {
		t.Errorf("%v, %s, %q", err, resp.Proto, resp.TLS.NegotiatedProtocol)
	}
}

func TestTLSFiles(t *testing.T) {
	ca := newAuthority(t, "ca")
	cert, key := ca.issue(t, time.Now().Add(time.Hour), part(oidCN, "host"))
	empty := t.TempDir()
	for _, c := range []struct {
		files TLSFiles
		want  string
	}{
		{TLSFiles{Cert: cert, Key: key}, ""},
		{TLSFiles{Cert: cert, Key: key, ClientCA: ca.pem}, ""},
		{TLSFiles{Cert: cert, Key: key, ClientCA: filepath.Dir(ca.pem)}, ""},
		{TLSFiles{Cert: cert, Key: ca.pem}, "certificate " + cert + " with key " + ca.pem + ": "},
		{TLSFiles{Cert: "none.pem", Key: key}, "none.pem"},
		{TLSFiles{Cert: cert, Key: key, ClientCA: empty}, "client CAs: " + empty + ": no certificate of a CA in it (PEM)"},
		{TLSFiles{Cert: cert, Key: key, ClientCA: key}, "client CAs: " + key + ": no certificate of a CA in it (PEM)"},
		{TLSFiles{Cert: cert, Key: key, ClientCA: "none"}, "none"},
	} {
		_, err := c.files.Config()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.files, err, c.want)
		}
	}
}
