package sim

import (
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// ownedVariants break what is promised of what the owners of units say.
var ownedVariants = []variant{
	{"report-never-too-old", "", resources(func(r *shares.Resource) { r.ExternalExpires = forever })},
	{"report-counts-ours-twice", "", rewritten(func(e entry.Entry) entry.Entry {
		r, ok := e.(entry.Reported)
		if ok {
			r.Settled = 0
			return r
		}
		return e
	})},
	{"report-ignored", "", rewritten(func(e entry.Entry) entry.Entry {
		if _, ok := e.(entry.Reported); ok {
			return nil
		}
		return e
	})},
}

// ownedWanted is what must be said of them.
var ownedWanted = map[string]string{
	"report-never-too-old": "by the last report", "report-counts-ours-twice": "by the last report", "report-ignored": "units, and",
}

// resources changes the resources of all versions of the site.
func resources(change func(r *shares.Resource)) func(*Wiring) {
	return adopted(func(v *shares.Version) {
		v.Resources = slices.Clone(v.Resources)
		for i := range v.Resources {
			change(&v.Resources[i])
		}
	})
}
