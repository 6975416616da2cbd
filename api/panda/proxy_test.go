package panda

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/ownca"
)

// holder is a certificate with its key and those that issued it.
type holder struct {
	chain []*x509.Certificate
	key   *ecdsa.PrivateKey
}

// holderOf is a person's certificate.
func holderOf(t *testing.T, a ownca.Authority, cn string) holder {
	t.Helper()
	cert, key := a.Issue(t, time.Now().Add(time.Hour), ownca.Person(cn)...)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return holder{[]*x509.Certificate{pair.Leaf}, pair.PrivateKey.(*ecdsa.PrivateKey)}
}

// deputy is what a test changes of a proxy.
type deputy struct {
	names  []pkix.AttributeTypeAndValue // behind the issuer's; one CN as a rule
	length int                          // -1 = none
	until  time.Time
	signer *ecdsa.PrivateKey // the issuer's as a rule
	ca     bool
	info   []byte
	extra  []pkix.Extension
}

// proxy issues one.
func (h holder) proxy(t *testing.T, change func(*deputy)) holder {
	t.Helper()
	d := deputy{names: []pkix.AttributeTypeAndValue{ownca.Part(ownca.CN, "12345")}, length: -1, until: time.Now().Add(time.Hour), signer: h.key}
	if change != nil {
		change(&d)
	}
	var rdn pkix.RDNSequence
	if _, err := asn1.Unmarshal(h.chain[0].RawSubject, &rdn); err != nil {
		t.Fatal(err)
	}
	for _, n := range d.names {
		rdn = append(rdn, pkix.RelativeDistinguishedNameSET{n})
	}
	subject, err := asn1.Marshal(rdn)
	if err != nil {
		t.Fatal(err)
	}
	type policy struct{ Language asn1.ObjectIdentifier }
	inherit := policy{asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 21, 1}}
	info, err := asn1.Marshal(struct{ Policy policy }{inherit})
	if d.length >= 0 {
		info, err = asn1.Marshal(struct {
			Length int
			Policy policy
		}{d.length, inherit})
	}
	if d.info != nil {
		info = d.info
	}
	if err != nil {
		t.Fatal(err)
	}
	key := ownca.NewKey(t)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(3), RawSubject: subject, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: d.until,
		KeyUsage: x509.KeyUsageDigitalSignature, IsCA: d.ca, BasicConstraintsValid: d.ca,
		ExtraExtensions: append([]pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 14}, Critical: true, Value: info}}, d.extra...)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, &x509.Certificate{RawSubject: h.chain[0].RawSubject}, &key.PublicKey, d.signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return holder{append([]*x509.Certificate{cert}, h.chain...), key}
}

// Who shows a good proxy is its owner; a handshake with any other is refused.
func TestProxies(t *testing.T) {
	hosts, people, foreign := ownca.New(t, "hosts"), ownca.New(t, "people"), ownca.New(t, "foreign")
	cert, key := hosts.Issue(t, time.Now().Add(time.Hour), ownca.Part(ownca.CN, "host"))
	conf, err := keys.TLSFiles{Cert: cert, Key: key, ClientCA: people.PEM}.Config()
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, guardOf(t, false, ""), conf)
	robot, bob := holderOf(t, people, "Robot: atlas pilots"), holderOf(t, people, "Bob")
	proxy := robot.proxy(t, nil)
	self := holder{[]*x509.Certificate{people.Cert}, people.Key}
	for name, c := range map[string]struct {
		holder
		good bool
	}{
		"a proxy":                       {proxy, true},
		"a proxy of a proxy":            {proxy.proxy(t, nil), true},
		"with room for one, and one":    {robot.proxy(t, func(d *deputy) { d.length = 1 }).proxy(t, nil), true},
		"with room for none, and one":   {robot.proxy(t, func(d *deputy) { d.length = 0 }).proxy(t, nil), false},
		"with room for one, and two":    {robot.proxy(t, func(d *deputy) { d.length = 1 }).proxy(t, nil).proxy(t, nil), false},
		"over":                          {robot.proxy(t, func(d *deputy) { d.until = time.Now().Add(-time.Hour) }), false},
		"issued by an over one":         {robot.proxy(t, func(d *deputy) { d.until = time.Now().Add(-time.Hour) }).proxy(t, nil), false},
		"signed by somebody else":       {robot.proxy(t, func(d *deputy) { d.signer = bob.key }), false},
		"of a foreign CA's person":      {holderOf(t, foreign, "Robot: atlas pilots").proxy(t, nil), false},
		"without the owner":             {holder{proxy.chain[:1], proxy.key}, false},
		"with another owner":            {holder{[]*x509.Certificate{proxy.chain[0], bob.chain[0]}, proxy.key}, false},
		"of another name":               {robot.proxy(t, func(d *deputy) { d.names = nil }), false},
		"of two names more":             {robot.proxy(t, func(d *deputy) { d.names = append(d.names, d.names...) }), false},
		"of one name more, which is DC": {robot.proxy(t, func(d *deputy) { d.names = []pkix.AttributeTypeAndValue{ownca.Part(ownca.DC, "x")} }), false},
		"that is a CA":                  {robot.proxy(t, func(d *deputy) { d.ca = true }), false},
		"issued by the CA":              {self.proxy(t, nil), false},
		"that cannot be read":           {robot.proxy(t, func(d *deputy) { d.info = []byte{4, 0} }), false},
		"with a critical extension": {robot.proxy(t, func(d *deputy) {
			d.extra = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}}}
		}), false},
		"shown with the key of another": {holder{robot.proxy(t, nil).chain, proxy.key}, false},
	} {
		shown := tls.Certificate{PrivateKey: c.key}
		for _, one := range c.chain {
			shown.Certificate = append(shown.Certificate, one.Raw)
		}
		client := hosts.ClientWith(t, &shown)
		if !c.good {
			if resp, err := client.Post(url+"/server/panda/isAlive", "application/json", nil); err == nil {
				t.Errorf("%s: let in: %v", name, resp.Status)
			} else if !refusedByTLS(err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		status, body := knock{origin: "atlas.pilot"}.do(t, client, url)
		if want := "caller atlas-robot (pilot) /DC=org/DC=grid/CN=Robot: atlas pilots atlas.pilot"; status != 200 || body != want {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}
