// Package wire is what every call of PanDA's APIs is made of, whatever it is about: arguments, answers, and the forms of both. It knows no database and no clock.
//
//		request ──Decode──▶ Args ──Params.Read──▶ Args by kinds ──Endpoint──▶ Envelope ──▶ JSON, or pickle for old clients
//
//	 1. Bodies are JSON, gzip said or unsaid, or forms; their size and the number of their values are bounded.
//	 2. Params.Read names the first argument that is unknown, missing or of another kind, in PanDA's words; Lenient passes over it.
//	 3. Answers have a length and are never compressed. Texts are cut at whole characters.
package wire
