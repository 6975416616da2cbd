package keys

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"

	"github.com/divvyhq/divvy/internal/ownca"
)

func TestSubjects(t *testing.T) {
	for want, subject := range map[string][]pkix.AttributeTypeAndValue{
		"/DC=ch/DC=cern/OU=Users/CN=Ann":      {ownca.Part(ownca.DC, "ch"), ownca.Part(ownca.DC, "cern"), ownca.Part("2.5.4.11", "Users"), ownca.Part(ownca.CN, "Ann")},
		`/C=UK/O=eScience/CN=host\x2Fa.b`:     {ownca.Part("2.5.4.6", "UK"), ownca.Part("2.5.4.10", "eScience"), ownca.Part(ownca.CN, "host/a.b")},
		`/CN=a\x2FCN=b`:                       {ownca.Part(ownca.CN, "a/CN=b")},
		`/CN=a\x5C\x2FCN=b`:                   {ownca.Part(ownca.CN, `a\/CN=b`)},
		`/CN=a\x5Cx2Fb`:                       {ownca.Part(ownca.CN, `a\x2Fb`)},
		`/CN=a\x0Ab`:                          {ownca.Part(ownca.CN, "a\nb")},
		"/CN=Jörg/1.2.3.4=x/emailAddress=a@b": {ownca.Part(ownca.CN, "Jörg"), ownca.Part("1.2.3.4", "x"), ownca.Part("1.2.840.113549.1.9.1", "a@b")},
		"":                                    {},
	} {
		if got := DN(&x509.Certificate{RawSubject: ownca.Subject(t, subject...)}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
