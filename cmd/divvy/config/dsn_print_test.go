package config

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestHidePassword(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"auto":                       "auto",
		"postgres://u@h/d":           "postgres://u@h/d",
		"postgres://h/d":             "postgres://h/d",
		"postgres://u:p@ss@h:5432/d": "postgres://u:xxxxx@h:5432/d",
		"postgres://u:PW@h/x?password=PW&sslmode=require":                        "postgres://u:xxxxx@h/x?password=xxxxx&sslmode=require",
		"postgres://u@h/x?password=PW":                                           "postgres://u@h/x?password=xxxxx",
		"postgresql://h/x?sslmode=require&sslpassword=PW":                        "postgresql://h/x?sslmode=require&sslpassword=xxxxx",
		"postgres://h/x?pass%77ord=PW":                                           "postgres://h/x?password=xxxxx",
		"postgres://h/x?sslkey=/k.pem&passfile=/p&password=PW":                   "postgres://h/x?sslkey=/k.pem&passfile=/p&password=xxxxx",
		"postgres://u:PW@h1:5432,h2:5433/d?target_session_attrs=rw":              "postgres://u:xxxxx@h1:5432,h2:5433/d?target_session_attrs=rw",
		"host=/run user=u password=PW dbname=d":                                  "host=/run user=u password=xxxxx dbname=d",
		"host=h password = PW dbname = d":                                        "host=h password=xxxxx dbname=d",
		`host=h password='PW PW' application_name='a \' b' sslpassword='P\'W'`:   `host=h password=xxxxx application_name='a \' b' sslpassword=xxxxx`,
		`password=P\ W\'PW dbname=d`:                                             "password=xxxxx dbname=d",
		"host=h\tpassword=\n'PW'\tdbname=d oauth_client_secret=PW PASSWORD=PW  ": "host=h password=xxxxx dbname=d oauth_client_secret=xxxxx PASSWORD=xxxxx",
		"password='PW'dbname=d":                                                  "password=xxxxx dbname=d",
		"password=PWhost=h":                                                      "password=xxxxx",
		"password= dbname=d":                                                     "password=xxxxx", // as pgx reads it
		// What does not read well is not shown.
		"PW": "xxxxx", "  ": "xxxxx", "password=PW PW host=h": "xxxxx", "password='PW": "xxxxx", `password='PW\'`: "xxxxx", "host=h PW": "xxxxx",
		"postgres://u:PW/PW@h/d": "xxxxx", "postgres://u:12/PW@h/d": "xxxxx", "postgres://u:12?PW@h/d": "xxxxx", "postgres://u:12#PW@h/d": "xxxxx",
		"postgres://u:12?x=PW@h/d": "xxxxx", "postgres://u:%PW@h/d": "xxxxx", "postgres://h/d?password=%zzPW": "postgres://h/d?password=xxxxx",
		"postgres://h/d?a=b;password=PW": "xxxxx", "postgres://h/d?PW": "xxxxx", "mysql://u:PW@h/d": "xxxxx", "Postgres://u:PW@h/d?password=PW": "xxxxx",
	} {
		got := HidePassword(in)
		if got != want {
			t.Errorf("hidePassword(%q) = %q, want %q", in, got, want)
		}
		if again := HidePassword(got); again != got && got != hidden {
			t.Errorf("%q is shown as %q, which is shown as %q", in, got, again)
		}
	}
}

// Whatever pgx takes for a password is not in what is shown.
func FuzzHidePassword(f *testing.F) {
	for _, dsn := range []string{"postgres://u:QQsecret@h/d?password=QQsecret", "password = 'QQsecret x' host=h", `password=QQse\ cret`, "host=a password=b=QQsecret c=d", "postgres://QQsecret:QQ/@x"} {
		f.Add(dsn)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		c, err := pgconn.ParseConfig(dsn)
		if err != nil || len(c.Password) < 8 || !strings.HasPrefix(c.Password, "QQ") || strings.Count(dsn, c.Password) != 1 {
			return
		}
		if shown := HidePassword(dsn); strings.Contains(shown, c.Password) {
			t.Errorf("%q is shown as %q", dsn, shown)
		}
	})
}

func TestPrintConfigShowsNoPassword(t *testing.T) {
	c := Defaults()
	c.Database.DSN, c.Database.Direct = "postgres://u@h/x?password=PWPW", "host=h password='a PWPW' sslpassword = PWPW"
	var b bytes.Buffer
	if err := Print(&b, c); err != nil || strings.Contains(b.String(), "PWPW") || !strings.Contains(b.String(), "database: postgres://u@h/x?password=xxxxx\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
