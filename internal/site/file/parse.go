package file

import (
	"fmt"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares/retry"
)

// document is a site file as it is written.
type document struct {
	Shares         []share         `yaml:"shares" is:"required most=2000"`
	Tags           []rule          `yaml:"tags" is:"most=1000"`
	OnNoMatch      string          `yaml:"on_no_match"`
	Queues         []queue         `yaml:"queues" is:"most=5000" once:"queue"`
	Resources      []resource      `yaml:"resources" is:"most=1000" once:"resource"`
	ClaimTemplates []claimTemplate `yaml:"claim_templates" is:"most=1000" once:"claim template"`
	Limits         []Limit         `yaml:"limits" is:"most=1000"`
	RetryRules     []retry.Rule    `yaml:"retry_rules" is:"most=500" once:"retry rule"`
	ExitCodes      retry.Codes     `yaml:"exit_codes"`
	Attempts       retry.Policy    `yaml:"attempts"`
	Webhooks       []Webhook       `yaml:"webhooks" is:"most=20" once:"webhook"`
}

// Parse reads and checks a site file. The error is strict.Problems: everything that is wrong, in file order.
func Parse(name string, src []byte) (*Content, error) {
	docs, report := strict.Parse(name, src, strict.Limits{})
	switch {
	case report.Err() != nil:
		return nil, report.Err()
	case len(docs) == 0 || docs[0].IsNull():
		report.Add("the file is empty", "it needs shares:")
		return nil, report.Err()
	case len(docs) > 1:
		docs[1].Fail("a second document", "a site is one document: take out the ---")
	}
	said := document{OnNoMatch: Reject, Attempts: *DefaultAttempts()}
	decoder.Decode(docs[0], &said)
	s := &Content{Source: string(src)}
	s.take(docs[0], &said)
	if err := report.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// take checks the parts of a file against each other, whatever their order there.
func (s *Content) take(v strict.Value, said *document) {
	at := func(key string) strict.Value { return v.At(key) }
	if at("shares").IsList() && len(said.Shares) == 0 && !at("shares").Failed() {
		at("shares").Fail("shares is empty", "jobs need at least one share")
	}
	t := newTree(said.Shares)
	s.Tree = t.build(at("shares"))
	s.Was = t.formerPaths()
	s.addQueues(said.Queues, t)
	t.checkPools(s.Queues)
	s.notePools(t)
	s.addLimits(said.Limits, at("limits"), t.paths)
	s.addResources(said.Resources, t)
	s.addTemplates(said.ClaimTemplates, at("resources"))
	s.addRules(said.Tags, said.OnNoMatch, at("on_no_match"), t)
	s.addWebhooks(said.Webhooks, at("webhooks"))
	s.Attempts = &said.Attempts
	s.Attempts.Rules, s.Attempts.Codes = said.RetryRules, said.ExitCodes
	for i := range said.RetryRules {
		checkRetryRule(&said.RetryRules[i], element(at("retry_rules"), i))
	}
}

// element is where an entry of a list stands.
func element(v strict.Value, i int) strict.Value { return v.At(fmt.Sprintf("[%d]", i)) }

// decoder knows the texts and the other ways of writing that site files have.
var decoder = newDecoder()

func newDecoder() *strict.Decoder {
	const globs = "* stands for any letters of a name, ? for one, [ab] for one of these"
	d := strict.NewDecoder(map[string]strict.Word{
		"path": sharePath, "pilots": pilots, "attribute": attribute, "containers": containers,
		"share":    nameWithout("/$=", "the children of a share go under children:; $ and = have a meaning in rules and in --move"),
		"queue":    nameWithout("/*?[]=!, \"'", "a queue's name stands in addresses and beside globs and label selectors"),
		"pool":     nameWithout("/*?[]=!, \"'", "for instance cpu or gpu"),
		"resource": resourceName,
		"template": nameWithout("/:*?#% \"'", "for instance shared-gpu"),
		"device":   nameWithout(":/*?#%=, \"'", "for instance gpu"),
		"location": nameWithout(" ,\"'", "for instance CERN-PROD_DATADISK"),
		"rule":     nameWithout("\"'", "for instance out-of-memory"),
		"source":   nameWithout(" :\"'", "payload, pilot, or what stands before ErrorCode in the pilot's report"),
		"glob":     glob(" %q is not a glob", "for instance phys-*"),
		"pattern":  glob(": %q is no glob", globs),
	})
	strict.Reads(d, readAmount)
	strict.Reads(d, readLimit)
	strict.Reads(d, readNode)
	strict.Reads(d, readCodes)
	strict.Reads(d, readExitCodes)
	strict.Reads(d, readPattern)
	strict.Reads(d, readDay)
	strict.Reads(d, readBlackHole)
	return d
}
