// Package strict reads YAML documents without mercy: every key must be known, given once and of the right
// kind, and every fault is reported with file, line, column and a hint, all of them in one go.
//
//	docs, report := strict.Parse("site.yml", src, strict.Limits{})
//	for _, doc := range docs {
//		decoder.Decode(doc, &queue)
//		if queue.Slots == nil && queue.Pool == "gpu" {
//			doc.At("pool").Fail("pool gpu wants slots", "say how many cores it has")
//		}
//	}
//	return report.Err() // nil, or Problems
//
// # Tags
//
// What is said of a key stands once, at its field:
//
//	Slots *int     `yaml:"slots" is:"..1000000"`
//	Names []string `yaml:"names" is:"some most=100 word=queue" once:"name" hint:"leave it out for all"`
//
//	yaml, else json   the key; "-": none. Fields of embedded structs are the struct's own
//	enum              texts that it may be
//	is                required · empty: a text may be "" · 1..100: a number or, 1s..24h, a time is in that range
//	                  milli: thousandths, seconds: a time in seconds, duration: in nanoseconds, whole: of whole seconds
//	                  word=w, keys=w: texts, or keys of a mapping, are words of the decoder · some, most=n: entries of a list
//	once              what the entries of a list are, no two of which have the same name
//	doc               what it means, for lists of Keys in pages
//	zero, hint        what to do about a zero; about a value out of range, or an empty list
//
// Faults goes by the same tags where a struct came as JSON.
//
// A type that is written in more than one way has a function (Reads). A struct with a method Start(Value) is told where it begins,
// and sets there what holds where the file says nothing. Of lists and mappings the tags are about each entry.
//
// # Promises
//
//  1. Bounded: size, depth and the number of values are limited, and a value that an alias repeats is counted
//     each time it is read. An anchor that contains itself is a problem. After a hundred problems nothing more is read.
//  2. Nothing is guessed: numbers in quotes, octal, hexadecimal and explicit tags are problems. Text takes any
//     plain scalar as it is written, so that el9, 7.10 and true are what they look like.
//  3. No input makes it panic (fuzzed). A tag that says what cannot be does, as soon as its struct is used.
//
// yaml.go is the only file that knows the YAML library.
package strict
