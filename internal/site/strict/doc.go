// Package strict reads YAML documents without mercy: every key must be known, given once and of the right
// kind, and every fault is reported with file, line, column and a hint, all of them in one go.
//
//	docs, report := strict.Parse("site.yml", src, strict.Limits{})
//	for _, doc := range docs {
//		seen := doc.Mapping(strict.Fields{
//			"name":   func(v strict.Value) { name, _ = v.Text() },
//			"weight": func(v strict.Value) { weight, _ = v.Number() },
//		})
//		seen.Require("name")
//	}
//	return report.Err() // nil, or Problems
//
// A reading method that fails has reported why; its second result says only whether the first one counts.
//
// Promises
//
//  1. Bounded: size, depth and the number of values are limited, and a value that an alias repeats is counted
//     each time it is read. An anchor that contains itself is a problem. After a hundred problems nothing more is read.
//  2. Nothing is guessed: numbers in quotes, octal, hexadecimal and explicit tags are problems. Text takes any
//     plain scalar as it is written, so that el9, 7.10 and true are what they look like.
//  3. No input makes it panic (fuzzed).
//
// yaml.go is the only file that knows the YAML library.
package strict
