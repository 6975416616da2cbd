// Package tagging gives tasks their share by ordered rules over their attributes. Pure: a Table is made once
// and is then safe for concurrent reading.
//
//	match: {label: managed, working_group: "GP_(PHYS|HIGGS)"}     share: "Analysis/$1"
//
// # Contract
//
//  1. Rules are asked in order; the first whose every field matches wins. Later ones that match too are
//     reported and change nothing. A rule with an empty match matches everything.
//  2. A field's pattern is an RE2 regular expression that must match the whole value. Case matters unless
//     the pattern says (?i).
//  3. An attribute that is missing or empty is matched by the pattern "" only; ".*" does not match it. The
//     pattern "" in turn matches nothing else.
//  4. The share of a rule may use groups of its patterns: $1, ${1} or ${name}; $$ is a dollar sign. Numbers
//     may be used when one field alone has groups, so that the order of the fields never matters; otherwise
//     groups must be named, each name once in a rule. A group that took no part stands for "".
//  5. Every share that a rule can yield is a leaf. Compile decides this once: it lists all values of the
//     groups used, so these must be finite (alternatives, optional parts, small classes and counts), outside
//     repetitions, and at most MaxShares together. What stands around the groups may be anything.
//  6. No match: on_no_match says reject, hold, or the path of a leaf (verdict default).
//  7. A job keeps the share of its task unless the first rule that matches it names a job attribute
//     (resource_type, queue): TagJob.
//  8. Matching takes time linear in the value (RE2); patterns are bounded by MaxPattern bytes and MaxProgram
//     instructions. Compile lists all problems at once, each with the index of its rule and the field.
package tagging
