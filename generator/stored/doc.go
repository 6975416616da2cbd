// Package stored keeps the inputs of tasks in rows of up to split.RunInputs, by their positions: Chunk ──Copy──▶ inputs ──ReadPieces, From──▶ names.
package stored
