package main

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

var day = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

func TestTableOfFaults(t *testing.T) {
	plays, err := read(strings.NewReader(`{"fault":"b","what":"B","seed":1,"jobs":10,"lost":0,"double":0,"recovery_ms":1500}
{"fault":"a","what":"A","seed":2,"jobs":10,"lost":1,"double":0,"recovery_ms":20}
{"fault":"b","what":"B","seed":3,"jobs":10,"lost":0,"double":2,"recovery_ms":300}`))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"b", "B", "2", "1 3", "20", "0", "2", "0.3 s", "1.5 s", "2026-01-02"},
		{"a", "A", "1", "2", "10", "1", "0", "0.0 s", "0.0 s", "2026-01-02"},
	}
	if got := table(plays, day); !reflect.DeepEqual(got[1:], want) || len(got[0]) != len(want[0]) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTableOfFailovers(t *testing.T) {
	plays, err := read(strings.NewReader(`{"fault":"k","what":"K","jobs":10,"failover":true,"postgresql":"15.1","away_ms":9000,"recovery_ms":200,"answers_503":7}
{"fault":"k","what":"K","jobs":10,"failover":true,"postgresql":"15.1","away_ms":11000,"recovery_ms":400,"answers_503":5,"no_jobs":1}
{"fault":"k","what":"K","jobs":10,"failover":true,"postgresql":"17.2","away_ms":1000,"recovery_ms":100,"answers_503":1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"15.1", "k", "K", "2", "20", "9.0 s", "11.0 s", "0.2 s", "0.4 s", "0", "0", "12", "1", "2026-01-02"},
		{"17.2", "k", "K", "1", "10", "1.0 s", "1.0 s", "0.1 s", "0.1 s", "0", "0", "1", "0", "2026-01-02"},
	}
	if got := failovers(plays, day); !reflect.DeepEqual(got[1:], want) || len(got[0]) != len(want[0]) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFaultsRefused(t *testing.T) {
	for name, lines := range map[string]string{"nothing": "", "no JSON": "{", "a play that failed": `{"fault":"a","failed":true}`} {
		if plays, err := read(strings.NewReader(lines)); err == nil {
			t.Errorf("%s: %+v, want an error", name, plays)
		}
	}
}
