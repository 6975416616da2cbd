// Package mcp answers an agent's questions about a site by the Model Context Protocol, over standard input and output.
//
//	agent ──tools/call──▶ Server ──api/client──▶ daemon
//	      ◀── JSON of the API, a link to the page ──┘
//
// Each tool is one row of a table: a name, a question in words, its arguments, and one call of the client.
//
// # Invariants
//
//  1. Nothing is changed. The tools read, or rehearse: the calls of the API that the role reader may make.
//  2. An answer is the JSON of the API as the client got it, beside the address of the page that shows the same.
//  3. An error of the daemon is the result of the tool, with its hint, not one of the protocol: an agent can read it and go on.
//  4. Standard output has messages of the protocol only.
//  5. Lists have at most a hundred items, and say how to ask for the rest.
package mcp
