// Package harvesters serves Harvesters and the programs that steer them: /api/v1/harvester. Package internal/harvester stores their reports;
// the dispatcher keeps target slots.
//
//		Harvester ──heartbeat, workers, metrics, dialogs──▶ Workers
//		Harvester ◀──commands─────────────────────────────── Workers ◀──sweep── operator ──target slots──▶ Jobs
//
//	 1. One element of a list that cannot be read spoils the call, before anything is kept.
//	 2. A command is handed out once.
//	 3. Who may sweep or set target slots is said by the Workers and Jobs that the calls are given.
package harvesters
