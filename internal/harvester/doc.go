// Package harvester keeps what PanDA's Harvesters say of themselves: that they live, which workers they have submitted
// and what became of these, how many there are, how their hosts are; and the commands that wait for them.
//
// Workers are Harvester's word for batch jobs that start pilots. Nothing here decides who gets a job: a worker's pilot pulls
// like any other.
//
//  1. What is sent twice stands once. A worker is as its Harvester last described it.
//  2. A command is handed out once, oldest first, by whichever daemon is asked.
//  3. What is older than a week goes, a bounded part at each heartbeat: there is no step to run.
//
// It writes the tables harvesters and harvester_*, and nobody else does.
package harvester
