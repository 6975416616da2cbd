package keys

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"strings"
)

// attributes are the names that subjects are written with in grid-mapfiles; others are written as their numbers.
var attributes = map[string]string{
	"2.5.4.3": "CN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU",
	"2.5.4.4": "SN", "2.5.4.42": "GN", "1.2.840.113549.1.9.1": "emailAddress",
	"0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC",
}

// DN is the subject of a certificate as grids write it, /DC=ch/DC=cern/CN=Robot: x, in the certificate's order. A
// slash in a value is written \x2F, a backslash \x5C, and what cannot be printed \xNN: every slash begins a part, so that
// no name that a CA lets somebody choose reads like more than one, whatever a pattern's .* takes of it.
func DN(cert *x509.Certificate) string {
	var subject pkix.RDNSequence
	if rest, err := asn1.Unmarshal(cert.RawSubject, &subject); err != nil || len(rest) > 0 {
		return "" // never with a certificate that crypto/x509 has parsed
	}
	var b strings.Builder
	for _, set := range subject {
		for _, part := range set {
			name, known := attributes[part.Type.String()]
			if !known {
				name = part.Type.String()
			}
			b.WriteString("/" + name + "=" + plain(fmt.Sprint(part.Value)))
		}
	}
	return b.String()
}

// plain is a value as it stands in a subject.
func plain(value string) string {
	var b strings.Builder
	for _, r := range value {
		switch {
		case r == '/' || r == '\\' || r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
