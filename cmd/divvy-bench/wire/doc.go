// Package wire speaks HTTP for a load that costs little beside what it measures.
package wire
