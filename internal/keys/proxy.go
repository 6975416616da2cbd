package keys

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Pilots show proxy certificates (RFC 3820): short-lived ones that a person's or a robot's certificate has issued, which
// is no CA. crypto/x509 refuses those, so the proxies are checked here and taken off; what is left is verified as usual.
//
//	CA ──▶ /CN=Robot: pilots ──▶ /CN=Robot: pilots/CN=1234 ──▶ …/CN=5678
//	       the owner             proxies, each with the owner's rights

// verifyClient checks what a client has shown, if it has shown anything.
func verifyClient(cas *x509.CertPool) func(tls.ConnectionState) error {
	return func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) == 0 {
			return nil
		}
		owner, err := checkProxies(cs.PeerCertificates, time.Now())
		if err != nil {
			return err
		}
		others := x509.NewCertPool()
		for _, c := range cs.PeerCertificates[1:] {
			if c != owner && !isProxy(c) {
				others.AddCert(c)
			}
		}
		_, err = owner.Verify(x509.VerifyOptions{Roots: cas, Intermediates: others, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		return err
	}
}

// OwnerOf is the certificate that the proxies in front of a chain stand for; the first one where there are none. A
// listener lets no chain in that verifyClient has not found good.
func OwnerOf(chain []*x509.Certificate) *x509.Certificate {
	i := slices.IndexFunc(chain, func(c *x509.Certificate) bool { return !isProxy(c) })
	if i < 0 {
		return nil
	}
	return chain[i]
}

// checkProxies returns the owner when each proxy in front of it is good: issued by the next certificate.
func checkProxies(chain []*x509.Certificate, now time.Time) (*x509.Certificate, error) {
	for i, c := range chain {
		if !isProxy(c) {
			return c, nil
		}
		if i+1 == len(chain) {
			break
		}
		if err := checkProxy(c, chain[i+1], i, now); err != nil {
			return nil, fmt.Errorf("proxy certificate %s: %w", DN(c), err)
		}
	}
	return nil, errors.New("a proxy certificate came without the certificate of its owner")
}

// checkProxy checks a proxy that has so many proxies below it against the certificate that issued it.
func checkProxy(p, issuer *x509.Certificate, below int, now time.Time) error {
	length, err := proxyLength(p)
	switch {
	case err != nil:
		return err
	case length >= 0 && below > length:
		return fmt.Errorf("at most %d proxies may follow it, %d do", length, below)
	case now.Before(p.NotBefore) || now.After(p.NotAfter):
		return fmt.Errorf("good from %s to %s", p.NotBefore.UTC().Format(time.RFC3339), p.NotAfter.UTC().Format(time.RFC3339))
	case p.IsCA || issuer.IsCA:
		return errors.New("proxies are neither CAs nor issued by one")
	case issuer.KeyUsage != 0 && issuer.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return errors.New("its issuer may not sign")
	case !bytes.Equal(p.RawIssuer, issuer.RawSubject) || !oneNameMore(p, issuer):
		return errors.New("its name is not that of its issuer and one more CN")
	case slices.ContainsFunc(p.UnhandledCriticalExtensions, func(id asn1.ObjectIdentifier) bool { return !id.Equal(proxyInfo) }):
		return errors.New("it has a critical extension that is not known")
	}
	return issuer.CheckSignature(p.SignatureAlgorithm, p.RawTBSCertificate, p.Signature)
}

// proxyInfo marks proxies; commonName is the CN of a subject.
var (
	proxyInfo  = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 14}
	commonName = asn1.ObjectIdentifier{2, 5, 4, 3}
)

func isProxy(c *x509.Certificate) bool {
	return slices.ContainsFunc(c.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(proxyInfo) })
}

// proxyLength is how many proxies may follow; -1 = any number.
func proxyLength(p *x509.Certificate) (int, error) {
	i := slices.IndexFunc(p.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(proxyInfo) })
	info := struct {
		Length int `asn1:"optional,default:-1"`
		Policy struct {
			Language asn1.ObjectIdentifier
			Text     []byte `asn1:"optional"`
		}
	}{}
	if rest, err := asn1.Unmarshal(p.Extensions[i].Value, &info); err != nil || len(rest) > 0 {
		return 0, errors.New("its proxyCertInfo cannot be read")
	}
	return info.Length, nil
}

// oneNameMore says whether the proxy's subject is its issuer's, byte by byte, and a CN.
func oneNameMore(p, issuer *x509.Certificate) bool {
	var long, short []asn1.RawValue
	var last pkix.RelativeDistinguishedNameSET
	if _, err := asn1.Unmarshal(p.RawSubject, &long); err != nil {
		return false
	}
	if _, err := asn1.Unmarshal(issuer.RawSubject, &short); err != nil || len(long) != len(short)+1 {
		return false
	}
	if _, err := asn1.UnmarshalWithParams(long[len(short)].FullBytes, &last, "set"); err != nil || len(last) != 1 {
		return false
	}
	return last[0].Type.Equal(commonName) && slices.EqualFunc(long[:len(short)], short, func(a, b asn1.RawValue) bool {
		return bytes.Equal(a.FullBytes, b.FullBytes)
	})
}
